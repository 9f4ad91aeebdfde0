/**
 * `TurnEnvironment` starts servers and worker processes that run turns, follows their sessions, and checks everything
 * afterwards. Does not run turns itself.
 */
import { randomUUID } from "node:crypto";
import { emptyState, type SessionEvent, fold, type SessionState, type Turn } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { createSession, type SessionRef, sendMessage } from "@turnstream/server";
import { systemEnv } from "@turnstream/server/ports";
import { type StartedBackend, startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import type { WorkerSettings } from "./processes/turn-worker.ts";
import { TurnFollower } from "./turn-follower.ts";
import type { Plan } from "./turn-plan.ts";
import { WorkerProcess } from "./worker-process.ts";

export const ACTOR = { tenant: "chaos", user: "user-1" };
/** The lease of a worker, by default. */
const TTL_MS = 3_000;

const EFFECTS = `create table effects (
  n bigint generated always as identity,
  idempotency_key text not null,
  call text not null,
  key text not null,
  executor text not null,
  called_at bigint not null,
  at timestamptz not null default clock_timestamp()
)`;

interface Effect {
  readonly n: number;
  readonly idempotencyKey: string;
  readonly call: string;
  readonly key: string;
  readonly executor: string;
  /** When the tool was called, on the clock of its process. */
  readonly calledAt: number;
}

export class TurnEnvironment {
  readonly backend: StartedBackend;
  readonly workers: WorkerProcess[] = [];
  readonly followers = new Set<TurnFollower>();
  #count = 0;

  private constructor(backend: StartedBackend) {
    this.backend = backend;
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
    await runSql(backend.databaseUrl, EFFECTS);
    await backend.store.tenants.create({ id: ACTOR.tenant, name: "Chaos" });
    const environment = new TurnEnvironment(backend);
    try {
      return await use(environment);
    } finally {
      await environment.#end();
    }
  }

  /**
   * Starts a worker. Call its `ready()` to wait for it.
   * @param root a copy of the repository with another version. Default: this repository
   */
  launchWorker(settings: Partial<WorkerSettings> = {}, root?: string): WorkerProcess {
    const worker = new WorkerProcess(
      {
        name: `worker-${++this.#count}`,
        databaseUrl: this.backend.databaseUrl,
        redisUrl: this.backend.redisUrl,
        ttlMs: TTL_MS,
        version: "a",
        ...settings,
      },
      root,
    );
    this.workers.push(worker);
    return worker;
  }

  async launchReadyWorkers(count: number, settings: Partial<WorkerSettings> = {}): Promise<WorkerProcess[]> {
    const workers = Array.from({ length: count }, () => this.launchWorker(settings));
    await Promise.all(workers.map((worker) => worker.ready()));
    return workers;
  }

  /** Starts the missing workers. On a busy machine a worker can be too slow for its lease, and exits. */
  keepWorkers(count: number, settings: Partial<WorkerSettings> = {}): void {
    const alive = this.workers.filter((worker) => !worker.hasExited && !worker.hasLostLease).length;
    for (let n = alive; n < count; n++) this.launchWorker(settings);
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

  /** Folds the archive and the log, and checks each event against the rules. */
  async checkSession(
    ref: SessionRef,
  ): Promise<{ state: SessionState; events: SessionEvent[]; illegal: string[] }> {
    const events = await readAllEvents(this.backend, ref);
    const illegal: string[] = [];
    let state = emptyState;
    for (const event of events) {
      const wrong = checkEvent(state, event);
      if (wrong !== null)
        illegal.push(`${ref.session}: ${wrong.rule} ${wrong.message}: ${JSON.stringify(event)}`);
      state = fold(state, event);
    }
    return { state, events, illegal };
  }

  /** Counts rows of ended turns that are left in the store. */
  async countLeftovers(): Promise<{ running: number; journal: number }> {
    const count = async (from: string) =>
      Number((await runSql(this.backend.databaseUrl, `select count(*) from ${from}`))[0]?.["count"]);
    return { running: await count("running_turns"), journal: await count("turn_journal where not kept") };
  }

  async readEffects(): Promise<Effect[]> {
    const rows = await runSql(
      this.backend.databaseUrl,
      `select n::int, idempotency_key as "idempotencyKey", call, key, executor, called_at::float8 as "calledAt" from effects order by n`,
    );
    return rows as unknown as Effect[];
  }

  async #end(): Promise<void> {
    await Promise.all([...this.followers].map((follower) => follower.stop()));
    await Promise.all(this.workers.filter((worker) => !worker.hasExited).map((worker) => worker.kill()));
    await this.backend.close();
  }
}

export function findTurn(state: SessionState, message: string): Turn | undefined {
  return state.turns.toArray().findLast((turn) => turn.message?.id === message);
}
