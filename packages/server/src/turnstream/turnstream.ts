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
import type { Store } from "../store/store.ts";
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
  #parts: Promise<OpenedParts> | null = null;
  #compared: Promise<void> | null = null;
  #worker: Promise<SupervisedWorker> | null = null;
  #gateway: Promise<Gateway> | null = null;
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

  parts(): Promise<OpenedParts> {
    const { migrates = process.env["NODE_ENV"] !== "production" } = this.#options;
    this.#parts ??= openParts(this.#settings, {
      tenant: this.#tenant,
      shouldMigrate: migrates,
      storage: this.#options.storage ?? null,
      features: this.#options.features,
      dataFolder: this.#options.dataFolder,
    }).then(
      (parts) => {
        this.#reportPlace(parts);
        return parts;
      },
      (error: unknown) => {
        // A fetch host calls again: the next call may find the servers.
        this.#parts = null;
        throw error;
      },
    );
    return this.#parts;
  }

  #reportPlace({ place }: OpenedParts): void {
    if (place === "folder")
      this.#print(`The data is in ${this.#options.dataFolder}. Delete the folder to start again.`);
  }

  async worker(): Promise<SupervisedWorker> {
    const worker = await this.#runTurns();
    this.#closeOnSignals();
    return worker;
  }

  gateway(): Promise<Gateway> {
    this.#gateway ??= this.#gatewayOptions()
      .then(createGateway)
      .catch((error: unknown) => {
        this.#gateway = null;
        throw error;
      });
    return this.#gateway;
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
    await (await this.#worker)?.replaceAgents(this.#prepareAgents(agents));
    this.#agents = agents;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** With `runsTurns: false`, only `worker()` starts the worker. */
  async #runTurnsUnlessSeparate(): Promise<void> {
    if (this.#options.runsTurns) await this.#runTurns();
  }

  #runTurns(): Promise<SupervisedWorker> {
    this.#worker ??= this.#startWorker().catch((error: unknown) => {
      this.#worker = null;
      throw reported(explainServerError(error, this.#settings));
    });
    return this.#worker;
  }

  async #startWorker(): Promise<SupervisedWorker> {
    const { store, log, signals } = await this.parts();
    const { features } = this.#options;
    return startWorker({
      ...this.#activity,
      ...(process.env["NODE_ENV"] !== "production" && DEVELOPMENT),
      ...this.#options.worker,
      features,
      onSecurityEvent: this.#onSecurityEvent,
      store,
      log,
      signals,
      agents: this.#prepareAgents(this.#agents),
    });
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
    const { store, log, signals, secret } = await this.parts();
    const { user, features, runsTurns } = this.#options;
    // A worker does the same when it starts.
    if (!runsTurns) await this.#compareFeatures(store);
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

  /** Once, although an app can have both a server and a gateway. */
  #compareFeatures(store: Store): Promise<void> {
    this.#compared ??= requireFeatures(store, this.#options.features, this.#activity.onError).catch(
      (error: unknown) => {
        this.#compared = null;
        throw explainServerError(error, this.#settings);
      },
    );
    return this.#compared;
  }

  async #close(): Promise<void> {
    await this.#server?.close();
    await (await opened(this.#gateway))?.close();
    await (await opened(this.#worker))?.shutdown();
    this.#waits.abort(new TurnError("CLOSED", "the wait"));
    await (await opened(this.#parts))?.close();
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

/** Returns null for a part that could not be opened: its caller already has the error. */
async function opened<Part>(part: Promise<Part> | null): Promise<Part | null> {
  return part === null ? null : await part.catch(() => null);
}

function explainListenError(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "EADDRINUSE") return error;
  return new SettingsError("PORT", `Port ${port} is already in use.`, error);
}
