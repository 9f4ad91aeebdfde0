/**
 * `FaultRounds` runs turns in workers, follows each with two clients through two gateways, injects faults into one round
 * of turns after the other, and judges everything that was written and read by `checkHistory`. The scenarios next to it
 * bring the fault.
 *
 * Invariant: the checker sees every append and read of every process, and nothing of an earlier round.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog, readHistory, type SessionRef } from "@turnstream/server";
import { type StartedBackend, startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { type GatewaySettings, GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { HIGH_LIMITS } from "@turnstream/testkit/gateway/high-limits.ts";
import type { Operation } from "@turnstream/testkit/history/check-history.ts";
import { HistoryFolder, recordFinal, recordLog } from "@turnstream/testkit/history/record-history.ts";
import type { Network, NetworkHost } from "@turnstream/testkit/network/partitioned-network.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { HistoryTally } from "../history-tally.ts";
import { CLIENT_KINDS } from "../client-kinds.ts";
import { ReconnectingClient } from "../reconnecting-client.ts";
import { findDifference, renderExpected } from "../render-expected.ts";
import type { Figure, RunOptions } from "../scenario.ts";
import { ACTOR } from "../turn-environment.ts";
import { createResults, ModelEnvironment, type StartedTurn } from "./model-environment.ts";
import type { ModelWorkerProcess } from "./model-worker-process.ts";

const OBSERVER = "observer";
const GATEWAYS = 2;
const CAUGHT_UP_MS = 60_000;
/** `responses` can't resync, so it follows no turn that may lose events. */
const KINDS = CLIENT_KINDS.filter(({ dialect }) => dialect !== "responses");

/** A process with the host on which it runs, if it has one of its own. */
interface Placed<Program> {
  program: Program;
  readonly host: NetworkHost | null;
}

export interface FaultRoundsOptions extends RunOptions {
  readonly workers: number;
  /** Starts the servers. Default: one PostgreSQL and one Redis */
  readonly start?: () => Promise<StartedBackend>;
  /** Starts the network. Every worker and gateway then has a host of its own. @default none */
  readonly startNetwork?: (servers: Readonly<Record<string, number>>) => Promise<Network>;
  /** The URL of Redis for one worker. @default that of the servers */
  readonly redisUrlOf?: (worker: number) => string;
  /** The URL of PostgreSQL for one worker. @default that of the servers */
  readonly databaseUrlOf?: (worker: number) => string;
}

export class FaultRounds {
  readonly models: ModelEnvironment;
  readonly workers: Placed<ModelWorkerProcess>[] = [];
  readonly gateways: Placed<GatewayProgram>[] = [];
  /** Counts what a scenario wants to report, by the name of the figure. */
  readonly counts = new Map<string, number>();
  readonly #options: FaultRoundsOptions;
  readonly #history: HistoryFolder;
  readonly #observe: (operation: Operation) => void;
  readonly #network: Network | null;
  readonly #results = createResults();
  readonly #problems: string[] = [];
  readonly #tally: HistoryTally;
  #headers: Readonly<Record<string, string>> = {};
  #rounds = 0;
  #launched = 0;
  #clients = 0;
  #returns = 0;

  private constructor(
    models: ModelEnvironment,
    options: FaultRoundsOptions,
    history: HistoryFolder,
    network: Network | null,
  ) {
    this.models = models;
    this.#options = options;
    this.#tally = new HistoryTally(options);
    this.#history = history;
    this.#observe = history.open(OBSERVER);
    this.#network = network;
  }

  /** Starts everything, runs `use`, and returns the figures. Stops every process and server, also after an error. */
  static async run(
    options: FaultRoundsOptions,
    use: (rounds: FaultRounds) => Promise<void>,
  ): Promise<Figure[]> {
    const history = await HistoryFolder.make();
    return ModelEnvironment.use(
      options.progress,
      async (models) => {
        const { postgres, redis } = models.turns.backend;
        const servers = {
          redis: redis.port,
          postgres: postgres.port,
          model: Number(new URL(models.provider.url).port),
        };
        const network = (await options.startNetwork?.(servers)) ?? null;
        const rounds = new FaultRounds(models, options, history, network);
        try {
          await rounds.#launch();
          await use(rounds);
          return rounds.#figures();
        } finally {
          await Promise.all(rounds.gateways.map(({ program }) => program.kill()));
          await Promise.all(models.living.map((worker) => worker.kill()));
          await network?.close();
          history.remove();
        }
      },
      async () => {
        const backend = await (options.start ?? startBackend)();
        return { ...backend, log: recordLog(backend.log, OBSERVER, history.open(OBSERVER)) };
      },
    );
  }

  /** The URL with which the processes of a host reach a server. */
  #urlOf(host: NetworkHost | null, server: string, url: string): string {
    return host?.urlOf(server, url) ?? url;
  }

  async #launch(): Promise<void> {
    const { backend } = this.models.turns;
    const { secret } = await backend.store.keys.create(ACTOR.tenant, { name: "chaos", scopes: [] });
    this.#headers = { "x-api-key": secret, "x-user-id": ACTOR.user };
    for (let n = 0; n < this.#options.workers; n++) {
      const host = (await this.#network?.addHost()) ?? null;
      this.workers.push({ program: await this.#launchWorker(n, host), host });
    }
    for (let n = 0; n < GATEWAYS; n++) {
      const host = (await this.#network?.addHost()) ?? null;
      this.gateways.push({ program: await this.#launchGateway(n, host), host });
    }
  }

  #launchWorker(n: number, host: NetworkHost | null): Promise<ModelWorkerProcess> {
    const { backend } = this.models.turns;
    const redisUrl = this.#options.redisUrlOf?.(n) ?? backend.redisUrl;
    const databaseUrl = this.#options.databaseUrlOf?.(n) ?? backend.databaseUrl;
    const settings = {
      redisUrl: this.#urlOf(host, "redis", redisUrl),
      databaseUrl: this.#urlOf(host, "postgres", databaseUrl),
      modelUrl: this.#urlOf(host, "model", this.models.provider.url),
      historyFolder: this.#history.path,
    };
    return this.models.launchWorker(settings, host?.launcher);
  }

  #launchGateway(n: number, host: NetworkHost | null): Promise<GatewayProgram> {
    const { backend } = this.models.turns;
    const settings: GatewaySettings = {
      backend: {
        redisUrl: this.#urlOf(host, "redis", backend.redisUrl),
        databaseUrl: this.#urlOf(host, "postgres", backend.databaseUrl),
        name: `gateway-${n + 1}-${++this.#launched}`,
        historyFolder: this.#history.path,
      },
      secrets: ["a secret that only this scenario knows, for all of its gateways"],
      callerLimits: HIGH_LIMITS,
      ...(host === null ? {} : { host: host.address, launcher: host.launcher }),
    };
    return GatewayProgram.launch(settings);
  }

  /** Kills a worker or gateway with -9. It is replaced after the round. */
  async kill({ program }: Placed<ModelWorkerProcess> | Placed<GatewayProgram>): Promise<void> {
    await program.kill();
    this.#observe({ type: "killed", process: program.name });
  }

  async replace(gateway: Placed<GatewayProgram>): Promise<void> {
    gateway.program = await this.#launchGateway(this.gateways.indexOf(gateway), gateway.host);
  }

  /** Records how much of each log a server has, before others can write to it. */
  async recordLosses(redisUrl: string): Promise<void> {
    const log = await createRedisLog({ url: redisUrl });
    for (const { ref } of this.models.turns.followers) {
      const kept = (await log.head(ref))?.last ?? "0-0";
      this.#observe({ type: "loss", session: ref.session, kept });
    }
    await log.close();
  }

  count(figure: string, by = 1): void {
    this.counts.set(figure, (this.counts.get(figure) ?? 0) + by);
  }

  /** Starts turns, injects a fault when the model answers all of them, and judges them when they have ended. */
  async round(
    turns: number,
    answerMs: number,
    fault: (started: readonly StartedTurn[]) => Promise<void>,
  ): Promise<void> {
    this.#rounds++;
    this.#history.clear();
    const viewers: { readonly ref: SessionRef; readonly client: ReconnectingClient }[] = [];
    const endpoints = () => this.gateways.map(({ program: { url } }) => ({ url, headers: this.#headers }));
    const started = await this.models.start(
      turns,
      answerMs,
      (name) => name,
      async (ref) => {
        for (const first of this.gateways.keys()) {
          const kind = KINDS[(viewers.length + this.#rounds) % KINDS.length] as (typeof KINDS)[number];
          const client = new ReconnectingClient({ session: ref.session, ...kind }, endpoints, first);
          viewers.push({ ref, client });
        }
      },
    );
    await this.models.untilAsked(started);
    await fault(started);
    await this.#judge(started, viewers);
    await this.#repair();
    const { turns: ended, problems } = this.#results;
    const counts = { turns: ended, problems: problems.length, ...Object.fromEntries(this.counts) };
    this.#options.progress(`${this.#rounds} of ${this.#options.times}: ${JSON.stringify(counts)}`);
  }

  async #judge(
    started: readonly StartedTurn[],
    viewers: readonly { readonly ref: SessionRef; readonly client: ReconnectingClient }[],
  ): Promise<void> {
    const { turns } = this.models;
    await this.models.untilEnded(started);
    for (const { follower } of started) {
      const isAtEnd = async () => follower.cursor === (await readHistory(turns.backend, follower.ref)).cursor;
      await until("the observer to have the whole log", isAtEnd).catch((error: unknown) =>
        this.#problems.push(String(error)),
      );
    }
    for (const { ref, client } of viewers) await this.#compare(ref, client);
    for (const {
      follower: { ref },
    } of started) {
      const { archived } = await turns.backend.store.archive.header(ref);
      await recordFinal(turns.backend.log, ref, this.#observe, archived);
    }
    const sessions = new Set(started.map(({ follower }) => follower.ref.session));
    this.#tally.add([...this.#operationsOf(sessions)]);
    for (const { client } of viewers) client.leave();
    await this.models.judge(started, this.#results);
  }

  *#operationsOf(sessions: ReadonlySet<string>): Generator<Operation> {
    for (const operation of this.#history.read())
      if (!("session" in operation) || sessions.has(operation.session)) yield operation;
  }

  async #compare(ref: SessionRef, { client, returns }: ReconnectingClient): Promise<void> {
    const { events } = await this.models.turns.checkSession(ref);
    const expected = renderExpected(client.options.dialect, events);
    const problem = (text: string) => this.#problems.push(`${client.name}: ${text}`);
    await client
      .until("caught up", () => client.rendered.cursor === expected.cursor, CAUGHT_UP_MS)
      .catch((error: unknown) => problem(String(error)));
    const difference = findDifference(client.rendered.display(), expected.display());
    if (difference !== null) problem(difference);
    client.rendered.problems.forEach(problem);
    this.#clients++;
    this.#returns += returns;
  }

  /** Replaces the processes that have died, and the workers that have lost their lease. */
  async #repair(): Promise<void> {
    for (const [n, placed] of this.workers.entries()) {
      if (!placed.program.hasExited && !placed.program.hasLostLease) continue;
      await placed.program.kill();
      placed.program = await this.#launchWorker(n, placed.host);
    }
    for (const gateway of this.gateways) if (gateway.program.hasExited) await this.replace(gateway);
  }

  #figures(): Figure[] {
    const { turns, calls, mostCalls, takeovers, problems } = this.#results;
    for (const problem of [...problems, ...this.#problems].slice(0, 20)) this.#options.progress(problem);
    return [
      { figure: "rounds", value: this.#rounds, exactly: this.#options.times },
      { figure: "turns", value: turns, atLeast: this.#rounds },
      ...this.#tally.figures(),
      { figure: "acknowledged appends", value: this.#tally.sum("acknowledged") },
      { figure: "appends sent again", value: this.#tally.sum("retried") },
      { figure: "of those that had succeeded", value: this.#tally.sum("repeated") },
      { figure: "entries read", value: this.#tally.sum("reads") },
      { figure: "readers that were told to reload", value: this.#tally.sum("told") },
      { figure: "readers that saw entries which were lost", value: this.#tally.sum("sawLost") },
      { figure: "acknowledged entries lost by a failover", value: this.#tally.sum("lost") },
      { figure: "turns that did not end as planned", value: problems.length, exactly: 0 },
      { figure: "clients that differ from the log", value: this.#problems.length, exactly: 0 },
      { figure: "clients", value: this.#clients, atLeast: this.#rounds },
      { figure: "connections of clients reopened", value: this.#returns },
      { figure: "model calls per turn", value: Number((calls / turns).toFixed(3)) },
      { figure: "most model calls of one turn", value: mostCalls },
      { figure: "takeovers", value: takeovers },
      ...(this.#network === null
        ? []
        : [
            { figure: "partitions drop packets (1) or bytes (0)", value: this.#network.dropsPackets ? 1 : 0 },
          ]),
      ...[...this.counts].map(([figure, value]) => ({ figure, value })),
    ];
  }
}

/** Runs a fault after a random time, so that it hits turns in any state. */
export async function afterUpTo(ms: number, random: () => number, fault: () => Promise<void>): Promise<void> {
  await sleep(random() * ms);
  await fault();
}
