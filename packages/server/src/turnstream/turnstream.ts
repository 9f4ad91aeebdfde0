/**
 * `turnstream` is a whole server in one call: gateway, worker and sign-in, on PostgreSQL and Redis or in a folder. It
 * composes the pieces that `@turnstream/server` also exports one by one.
 * Invariant: nothing is opened before the first call of a method. Each part is opened once; a later call repeats an
 * opening that failed. `close` ends the parts in reverse order: connections, turns, then the servers' connections.
 */
import { randomBytes } from "node:crypto";
import { type Server, createServer } from "../gateway/create-server.ts";
import { type Gateway, createGateway } from "../gateway/gateway.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import { explainServerError, readSettings, type Settings, SettingsError } from "./settings.ts";
import type { Agent } from "../runtime/define/agent.ts";
import { RuntimeError } from "../runtime/errors.ts";
import { type SupervisedWorker, startWorker } from "../runtime/worker/supervise.ts";
import { TurnError } from "../session/history/turn-error.ts";
import { requireFeatures } from "../store/features.ts";
import { OptionsError } from "../util/options-error.ts";
import { createSecurityReporter, type SecurityEventHandler } from "../util/security-event.ts";
import { reportUncaught } from "../util/report-uncaught.ts";
import { type ActivityLog, createActivityLog } from "./activity-log.ts";
import { type ResolvedTurnstreamOptions, resolveOptions, type TurnstreamOptions } from "./options.ts";
import { type OpenedParts, openParts, type Parts } from "./parts.ts";
import { withScriptedAnswers } from "./scripted-answers.ts";
import { createSessionCommands, type SessionCommands } from "./session-commands.ts";

export interface Turnstream {
  /**
   * Serves clients and runs turns until SIGTERM or SIGINT.
   * @param port a free port if it is 0. @default the environment variable PORT, or 8080
   * @returns the server's URL
   */
  listen(port?: number, host?: string): Promise<string>;
  /** Handles one request of a host with Request and Response, and runs turns. Clients use event streams. */
  handle(request: Request): Promise<Response>;
  /** Starts only the worker, until `close` or a signal. */
  worker(): Promise<SupervisedWorker>;
  /** Opens only the gateway, to embed it in a server. */
  gateway(): Promise<Gateway>;
  /**
   * Replaces the agents for turns that start afterwards. Running turns continue with theirs, and sessions stay. If an
   * agent can't be used, the earlier ones stay.
   * @throws RuntimeError
   */
  replaceAgents(agents: readonly Agent[]): Promise<void>;
  /** Commands for the server's own code. */
  readonly sessions: SessionCommands;
  /** The store, log and signals, for everything else that `@turnstream/server` exports. */
  parts(): Promise<Parts>;
  /** Ends everything that was started. Turns of other processes continue. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 8_080;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** Defaults of the worker outside of production: developers see errors of providers, and Ctrl-C doesn't wait. */
const DEVELOPMENT = { showsProviderErrors: true, drainMs: 0 };
/** A terminal sends Ctrl-C to all processes of a command, and npm then sends it to its child once more. */
const SAME_SIGNAL_MS = 500;

/** @throws OptionsError for an unknown option, SettingsError if a setting is missing or wrong */
export function turnstream(options: TurnstreamOptions): Turnstream {
  try {
    const resolved = resolveOptions(options);
    return new App(resolved, readSettings(resolved, process.env));
  } catch (error) {
    throw reported(error);
  }
}

/** Mistakes of developers and operators. Their messages name what to change, so a program prints nothing else. */
function reported(error: unknown): unknown {
  if (error instanceof SettingsError || error instanceof RuntimeError || error instanceof OptionsError)
    return reportUncaught(error);
  return error;
}

class App implements Turnstream {
  readonly sessions: SessionCommands;
  readonly #options: ResolvedTurnstreamOptions;
  readonly #settings: Settings;
  readonly #secret: string;
  readonly #print: (line: string) => void;
  readonly #activity: ActivityLog;
  readonly #onSecurityEvent: SecurityEventHandler;
  #agents: readonly Agent[];
  /** Variables that are reported as missing. */
  readonly #missingKeys = new Set<string | null>();
  #replacing: Promise<void> = Promise.resolve();
  readonly #parts = new OpenedOnce(() => this.#openParts());
  readonly #compared = new OpenedOnce(() => this.#compareFeatures());
  readonly #worker = new OpenedOnce(() => this.#startWorker());
  readonly #gateway = new OpenedOnce(async () => createGateway(await this.#gatewayOptions()));
  #server: Server | null = null;
  #closing: Promise<void> | null = null;
  #signalledAt: number | null = null;
  /** Ends the waits for turns when the app is closed. */
  readonly #waits = new AbortController();

  constructor(options: ResolvedTurnstreamOptions, settings: Settings) {
    this.#options = options;
    this.#settings = settings;
    this.#agents = options.agents;
    this.#secret = settings.secret.value ?? randomBytes(32).toString("hex");
    const { print = (line: string) => void process.stderr.write(`${line}\n`), printsSteps } = options;
    this.#print = print === false ? () => undefined : print;
    const hasStacks = process.env["DEBUG"] !== undefined;
    this.#activity = createActivityLog({
      print: this.#print,
      now: () => new Date(),
      hasSteps: printsSteps,
      hasStacks,
      secret: this.#secret,
    });
    const { onSecurityEvent, onError } = this.#activity;
    this.#onSecurityEvent = createSecurityReporter([options.onSecurityEvent, onSecurityEvent], onError);
    this.sessions = createSessionCommands({
      tenant: this.#tenant,
      open: () => this.parts(),
      runTurns: () => this.#runTurnsUnlessSeparate(),
      closing: this.#waits.signal,
      onError: this.#activity.onError,
    });
  }

  get #tenant(): string {
    return this.#options.tenant;
  }

  parts(): Promise<Parts> {
    return this.#parts.get();
  }

  async #openParts(): Promise<OpenedParts> {
    const { migrates = process.env["NODE_ENV"] !== "production", storage = null } = this.#options;
    const { tenant, features, dataFolder } = this.#options;
    const options = { tenant, shouldMigrate: migrates, storage, features, dataFolder };
    const parts = await openParts(this.#settings, options);
    if (parts.place === "folder")
      this.#print(`The data is in ${dataFolder}. Delete the folder to start again.`);
    return parts;
  }

  async worker(): Promise<SupervisedWorker> {
    const worker = await this.#worker.get();
    this.#closeOnSignals();
    return worker;
  }

  gateway(): Promise<Gateway> {
    return this.#gateway.get();
  }

  async listen(port = Number(process.env["PORT"] ?? DEFAULT_PORT), host?: string): Promise<string> {
    const { page } = this.#options;
    try {
      this.#server = createServer({ ...(await this.#gatewayOptions()), page });
      await this.#runTurnsUnlessSeparate();
      const url = await this.#server.listen(port, host);
      this.#closeOnSignals();
      this.#print(`Turnstream listens on ${url}`);
      return url;
    } catch (error) {
      // A program that ends now must hand over its turns, and must not wait for its connections.
      await this.close().catch(() => undefined);
      throw reported(explainListenError(error, port));
    }
  }

  async handle(request: Request): Promise<Response> {
    const [gateway] = await Promise.all([this.gateway(), this.#runTurnsUnlessSeparate()]);
    return gateway.handle(request, { hasSockets: false });
  }

  replaceAgents(agents: readonly Agent[]): Promise<void> {
    // One after the other, so that the last call decides.
    const replaced = this.#replaceAfter(this.#replacing, agents);
    this.#replacing = replaced.catch(() => undefined);
    return replaced;
  }

  async #replaceAfter(earlier: Promise<void>, agents: readonly Agent[]): Promise<void> {
    await earlier;
    await (await this.#worker.opened)?.replaceAgents(this.#prepareAgents(agents));
    this.#agents = agents;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** With `runsTurns: false`, only `worker()` starts the worker. */
  async #runTurnsUnlessSeparate(): Promise<void> {
    if (this.#options.runsTurns) await this.#worker.get();
  }

  async #startWorker(): Promise<SupervisedWorker> {
    try {
      const { store, log, signals } = await this.parts();
      return await startWorker({
        ...this.#activity,
        ...(process.env["NODE_ENV"] !== "production" && DEVELOPMENT),
        ...this.#options.worker,
        features: this.#options.features,
        onSecurityEvent: this.#onSecurityEvent,
        store,
        log,
        signals,
        agents: this.#prepareAgents(this.#agents),
      });
    } catch (error) {
      throw reported(explainServerError(error, this.#settings));
    }
  }

  #prepareAgents(agents: readonly Agent[]): readonly Agent[] {
    if (!this.#options.scriptedAnswers) return agents;
    const onMissingKey = (variable: string | null): void => {
      if (this.#missingKeys.has(variable)) return;
      this.#missingKeys.add(variable);
      this.#print(`${variable ?? "The API key of a model"} is not set: answers are scripted until it is.`);
    };
    return agents.map((agent) => withScriptedAnswers(agent, onMissingKey));
  }

  async #gatewayOptions(): Promise<GatewayOptions> {
    const { store, log, signals, secret } = await this.#parts.get();
    const { user, features, runsTurns } = this.#options;
    // A worker does the same when it starts.
    if (!runsTurns) await this.#compared.get();
    return {
      onError: this.#activity.onError,
      ...this.#options.gateway,
      features,
      onSecurityEvent: this.#onSecurityEvent,
      store,
      log,
      signals,
      secrets: [this.#settings.secret.value ?? secret ?? this.#secret],
      signIn: { tenant: this.#tenant, user },
    };
  }

  async #compareFeatures(): Promise<void> {
    const { store } = await this.parts();
    try {
      await requireFeatures(store, this.#options.features, this.#activity.onError);
    } catch (error) {
      throw explainServerError(error, this.#settings);
    }
  }

  async #close(): Promise<void> {
    await this.#server?.close();
    await (await settled(this.#gateway))?.close();
    await (await settled(this.#worker))?.shutdown();
    this.#waits.abort(new TurnError("CLOSED", "the wait"));
    await (await settled(this.#parts))?.close();
    for (const name of SIGNALS) process.off(name, this.#onSignal);
  }

  #closeOnSignals(): void {
    for (const name of SIGNALS)
      if (!process.listeners(name).includes(this.#onSignal)) process.on(name, this.#onSignal);
  }

  /** The first signal ends turns in order; a later one ends the process at once. */
  readonly #onSignal = (): void => {
    const now = performance.now();
    if (this.#signalledAt !== null) {
      if (now - this.#signalledAt > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    this.#signalledAt = now;
    void this.close().then(
      () => process.exit(0),
      (error: unknown) => {
        this.#activity.onError(error, { during: "closing" });
        process.exit(1);
      },
    );
  };
}

/** A part that the first `get` opens. A later one repeats an opening that failed: a fetch host calls again. */
class OpenedOnce<Part> {
  readonly #open: () => Promise<Part>;
  /** Null until the first `get`, and after a failure. */
  opened: Promise<Part> | null = null;

  constructor(open: () => Promise<Part>) {
    this.#open = open;
  }

  get(): Promise<Part> {
    this.opened ??= this.#open().catch((error: unknown) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }
}

/** Returns null for a part that could not be opened: its caller already has the error. */
async function settled<Part>({ opened }: OpenedOnce<Part>): Promise<Part | null> {
  return opened === null ? null : await opened.catch(() => null);
}

function explainListenError(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "EADDRINUSE") return error;
  return new SettingsError("PORT", `Port ${port} is already in use.`, error);
}
