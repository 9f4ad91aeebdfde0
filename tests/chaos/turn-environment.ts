/**
 * `TurnEnvironment` starts servers and worker processes that run turns, follows their sessions, and checks everything
 * afterwards, also the history that all its processes record. Does not run turns itself.
 */
import { randomUUID } from "node:crypto";
import { emptyState, type SessionEvent, fold, type SessionState, type Turn } from "@turnstream/protocol";
import { createSession, type SessionRef, sendMessage } from "@turnstream/server";
import { systemEnv } from "@turnstream/server/internal";
import { type StartedBackend, startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import {
  checkHistory,
  type CheckOptions,
  type Operation,
} from "@turnstream/testkit/history/check-history.ts";
import { HistoryFolder, recordFinal, recordLog } from "@turnstream/testkit/history/record-history.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import type { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import type { WorkerSettings } from "./processes/turn-worker.ts";
import { describeIllegal, TurnFollower } from "./turn-follower.ts";
import type { Plan } from "./turn-plan.ts";
import { WorkerProcess } from "./worker-process.ts";

export const ACTOR = { tenant: "chaos", user: "user-1" };
/** The name of this process in the history. */
const OBSERVER = "environment";
/** The lease of a worker, by default. */
const TTL_MS = 3_000;

const EFFECTS = "create table effects (key text not null, executor text not null, called_at bigint not null)";

interface Effect {
  readonly key: string;
  readonly executor: string;
  /** When the tool was called, on the clock of its process. */
  readonly calledAt: number;
}

interface Program extends Pick<ChildProgram, "name" | "hasExited" | "kill"> {
  readonly failures?: readonly string[];
}

export class TurnEnvironment {
  readonly backend: StartedBackend;
  /** Every process that uses the servers records what its log does here. */
  readonly history: HistoryFolder;
  readonly workers: WorkerProcess[] = [];
  readonly followers = new Set<TurnFollower>();
  readonly #programs: Program[] = [];
  readonly #proxies: TcpProxy[] = [];
  readonly #record: (operation: Operation) => void;
  #count = 0;

  private constructor(backend: StartedBackend, history: HistoryFolder) {
    this.history = history;
    this.#record = history.open(OBSERVER);
    this.backend = { ...backend, log: recordLog(backend.log, OBSERVER, this.#record) };
  }

  /** Runs `use`, then stops every process and server, also after an error. */
  static async use<T>(
    use: (environment: TurnEnvironment) => Promise<T>,
    servers: Parameters<typeof startBackend>[0] = {},
  ): Promise<T> {
    return TurnEnvironment.over(await startBackend(servers), use);
  }

  /** Like `use`, on servers that are running already. They stop in the end. */
  static async over<T>(
    backend: StartedBackend,
    use: (environment: TurnEnvironment) => Promise<T>,
  ): Promise<T> {
    const history = await HistoryFolder.make();
    await runSql(backend.databaseUrl, EFFECTS);
    await backend.store.tenants.create({ id: ACTOR.tenant, name: "Chaos" });
    const environment = new TurnEnvironment(backend, history);
    try {
      return await use(environment);
    } finally {
      await environment.#end();
    }
  }

  /** What a process needs to open a backend on these servers. Its name must be unique. */
  settings(name: string) {
    const { databaseUrl, redisUrl } = this.backend;
    return { name, databaseUrl, redisUrl, historyFolder: this.history.path };
  }

  /** Kills this process at the end. */
  own<T extends Program>(program: T): T {
    this.#programs.push(program);
    return program;
  }

  /**
   * Starts a worker. Call its `ready()` to wait for it.
   * @param root a copy of the repository with another version. Default: this repository
   */
  launchWorker(settings: Partial<WorkerSettings> = {}, root?: string): WorkerProcess {
    const name = `worker-${++this.#count}`;
    const worker = new WorkerProcess(
      { ...this.settings(name), ttlMs: TTL_MS, version: "a", ...settings },
      root,
    );
    this.workers.push(this.own(worker));
    return worker;
  }

  async launchReadyWorkers(count: number, settings: Partial<WorkerSettings> = {}): Promise<WorkerProcess[]> {
    const workers = Array.from({ length: count }, () => this.launchWorker(settings));
    await Promise.all(workers.map((worker) => worker.ready()));
    return workers;
  }

  /** Starts the missing workers. On a busy machine a worker can be too slow for its lease, and exits. */
  keepWorkers(count: number, settings: Partial<WorkerSettings> = {}): void {
    const alive = this.workers.filter(({ isDown }) => !isDown).length;
    for (let n = alive; n < count; n++) this.launchWorker(settings);
  }

  /** Starts the missing workers, and waits until so many are ready for turns. */
  async keepReadyWorkers(
    count: number,
    settings: Partial<WorkerSettings> = {},
    least = count,
  ): Promise<void> {
    await until(`${least} workers`, () => {
      this.keepWorkers(count, settings);
      return this.readyWorkers.length >= least;
    });
  }

  /** The unexpected errors that processes have reported. */
  get failures(): string[] {
    return [...new Set(this.#programs.flatMap(({ failures = [] }) => failures))];
  }

  get readyWorkers(): WorkerProcess[] {
    return this.workers.filter(({ isDown, isReady }) => isReady && !isDown);
  }

  /** Finds the ready worker that has the turn of this session. */
  findOwner({ owner, running }: TurnFollower): WorkerProcess | undefined {
    return running === undefined ? undefined : this.readyWorkers.find(({ name }) => name === owner);
  }

  /** Lists the followed sessions whose turn this worker has. */
  listTurns({ name }: WorkerProcess): TurnFollower[] {
    return [...this.followers].filter(({ owner, running }) => owner === name && running !== undefined);
  }

  /** Starts a proxy in front of Redis, whose URL a process gets instead. */
  async startRedisProxy(delayMs: number): Promise<{ readonly proxy: TcpProxy; readonly redisUrl: string }> {
    const { port } = new URL(this.backend.redisUrl);
    const proxy = await startProxy({ to: { host: "127.0.0.1", port: Number(port) } });
    proxy.delay(delayMs);
    this.#proxies.push(proxy);
    return { proxy, redisUrl: `redis://127.0.0.1:${proxy.port}` };
  }

  async createSession(): Promise<SessionRef> {
    const session = await createSession(this.backend, ACTOR, { id: `s-${randomUUID()}` }, systemEnv);
    return { tenant: ACTOR.tenant, session: session.id };
  }

  /** @param from the state to continue from, for a session whose log was trimmed. Default: the start */
  follow(ref: SessionRef, from?: SessionState): TurnFollower {
    const onStop = () => this.followers.delete(follower);
    const follower = new TurnFollower(this.backend, ref, onStop, from);
    this.followers.add(follower);
    return follower;
  }

  /** @returns the id of the message */
  async send(ref: SessionRef, plan: Plan): Promise<string> {
    const id = `m-${randomUUID()}`;
    await sendMessage(this.backend, ref, { id, text: JSON.stringify(plan), userId: ACTOR.user });
    return id;
  }

  /** Waits until no worker has a turn of this session. */
  async untilIdle(ref: SessionRef, timeoutMs = 60_000): Promise<void> {
    const isIdle = async () => (await this.backend.store.running.get(ref)) === null;
    await until(`${ref.session} to be idle`, isIdle, { timeoutMs, everyMs: 20 });
  }

  /** Folds the archive and the log, checks each event against the rules, and records the log for `checkHistory`. */
  async checkSession(
    ref: SessionRef,
  ): Promise<{ state: SessionState; events: SessionEvent[]; illegal: string[] }> {
    const events = await readAllEvents(this.backend, ref);
    const illegal: string[] = [];
    let state = emptyState;
    for (const event of events) {
      illegal.push(...describeIllegal(ref, state, event));
      state = fold(state, event);
    }
    await recordFinal(this.backend.log, ref, this.#record);
    return { state, events, illegal };
  }

  /** Counts rows of ended turns that are left in the store. */
  async countLeftovers(): Promise<{ running: number; journal: number }> {
    const count = async (from: string) =>
      Number((await runSql(this.backend.databaseUrl, `select count(*) from ${from}`))[0]?.["count"]);
    return { running: await count("running_turns"), journal: await count("turn_journal where not kept") };
  }

  /**
   * Compares what the logs of all processes did with the logs of the sessions that `checkSession` has read, and forgets
   * it.
   */
  checkHistory(options: CheckOptions = {}): { readonly acknowledged: number; readonly findings: string[] } {
    const killed = this.#programs.flatMap(({ name, hasExited }): Operation[] =>
      hasExited ? [{ type: "killed", process: name }] : [],
    );
    const { acknowledged, findings } = checkHistory([...this.history.read(), ...killed], options);
    this.history.clear();
    return {
      acknowledged,
      findings: findings.map(({ kind, session, text }) => `${kind} in ${session}: ${text}`),
    };
  }

  async readEffects(): Promise<Effect[]> {
    const query = `select key, executor, called_at::float8 as "calledAt" from effects`;
    const rows = await runSql(this.backend.databaseUrl, query);
    return rows as unknown as Effect[];
  }

  /** Counts how often each tool ran, by the key in its arguments. */
  async countEffects(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { key } of await this.readEffects()) counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts;
  }

  async #end(): Promise<void> {
    await Promise.all([...this.followers].map((follower) => follower.stop()));
    await Promise.all(this.#programs.filter(({ hasExited }) => !hasExited).map((program) => program.kill()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    await this.backend.close();
    this.history.remove();
  }
}

export function findTurn(state: SessionState, message: string): Turn | undefined {
  return state.turns.toArray().findLast((turn) => turn.message?.id === message);
}
