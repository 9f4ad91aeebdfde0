/**
 * The place where turns are played by worker processes: servers of its own, sessions that are followed as they are
 * written, and a look at everything afterwards. Never runs a turn itself.
 */
import { randomUUID } from "node:crypto";
import {
  emptyState,
  type SessionEvent,
  fold,
  checkEvent,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import {
  type CommandBackend,
  createRedisLog,
  createRedisSignals,
  createSession,
  migrate,
  migrateEngine,
  openDatabase,
  createPostgresStore,
  type SessionRef,
  sendMessage,
  systemEnv,
} from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import type { Settings } from "./processes/turn-worker.ts";
import { TurnFollower } from "./turn-follower.ts";
import type { Plan } from "./turn-plan.ts";
import { WorkerProcess } from "./worker-process.ts";

export const ACTOR = { tenant: "chaos", user: "someone" };
/** What a worker has if nobody says otherwise. */
const TTL_MS = 3_000;

const EFFECTS = `create table effects (
  n bigint generated always as identity,
  idempotency_key text not null,
  call text not null,
  key text not null,
  executor text not null,
  begun bigint not null,
  at timestamptz not null default clock_timestamp()
)`;

interface Effect {
  readonly n: number;
  readonly idempotencyKey: string;
  readonly call: string;
  readonly key: string;
  readonly executor: string;
  /** When the tool was called, by the clock of its process. */
  readonly begun: number;
}

export class TurnStage {
  readonly parts: CommandBackend;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  /** To be restarted and wiped. */
  readonly redis: RedisServer;
  readonly workers: WorkerProcess[] = [];
  readonly followers = new Set<TurnFollower>();
  readonly #close: () => Promise<void>;
  #count = 0;

  private constructor(
    parts: CommandBackend,
    urls: { postgres: string; redis: RedisServer },
    close: () => Promise<void>,
  ) {
    this.parts = parts;
    this.postgresUrl = urls.postgres;
    this.redis = urls.redis;
    this.redisUrl = urls.redis.url;
    this.#close = close;
  }

  /** Everything is stopped and gone when `use` has come back. */
  static async use<T>(use: (stage: TurnStage) => Promise<T>): Promise<T> {
    const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    const db = openDatabase({ url: postgres.url });
    await migrate(db);
    await migrateEngine(postgres.url);
    await runSql(postgres.url, EFFECTS);
    const store = createPostgresStore(db);
    const log = await createRedisLog({ url: redis.url });
    const signals = createRedisSignals({ url: redis.url });
    await store.tenants.create({ id: ACTOR.tenant, name: "Chaos" });
    const stage = new TurnStage({ store, log, signals }, { postgres: postgres.url, redis }, async () => {
      await Promise.all([signals.close(), log.close(), store.close()]);
      await Promise.all([postgres.stop(), redis.stop()]);
    });
    try {
      return await use(stage);
    } finally {
      await stage.#end();
    }
  }

  /** Starts a worker; `ready` tells when it is there. */
  launch(settings: Partial<Settings> = {}): WorkerProcess {
    const worker = new WorkerProcess({
      name: `worker-${++this.#count}`,
      postgresUrl: this.postgresUrl,
      redisUrl: this.redisUrl,
      ttlMs: TTL_MS,
      version: "a",
      ...settings,
    });
    this.workers.push(worker);
    return worker;
  }

  async launched(count: number, settings: Partial<Settings> = {}): Promise<WorkerProcess[]> {
    const workers = Array.from({ length: count }, () => this.launch(settings));
    await Promise.all(workers.map((worker) => worker.ready()));
    return workers;
  }

  /** Starts as many as are missing: on a busy machine one may be too slow for its lease, and ends. */
  keep(count: number, settings: Partial<Settings> = {}): void {
    const alive = this.workers.filter((worker) => !worker.isOver && worker.saidAt("lost") === null).length;
    for (let n = alive; n < count; n++) this.launch(settings);
  }

  async session(): Promise<SessionRef> {
    const session = await createSession(this.parts, ACTOR, { id: `s-${randomUUID()}` }, systemEnv);
    return { tenant: ACTOR.tenant, session: session.id };
  }

  follow(ref: SessionRef): TurnFollower {
    const follower = new TurnFollower(this.parts.log, ref, () => this.followers.delete(follower));
    this.followers.add(follower);
    return follower;
  }

  /** @returns the id of the message */
  async send(ref: SessionRef, plan: Plan): Promise<string> {
    const id = `m-${randomUUID()}`;
    await sendMessage(this.parts, ref, { id, text: JSON.stringify(plan), userId: ACTOR.user });
    return id;
  }

  /** Until no worker has anything to do with it any more. */
  async idle(ref: SessionRef, timeoutMs = 60_000): Promise<void> {
    const isIdle = async () => (await this.parts.store.running.get(ref)) === null;
    await until(`${ref.session} to be idle`, isIdle, { timeoutMs, everyMs: 20 });
  }

  /** The fold of the archive and the log, each event held to the rules. */
  async look(ref: SessionRef): Promise<{ state: SessionState; events: SessionEvent[]; illegal: string[] }> {
    const events = await this.#events(ref);
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

  /** What is left in the store of turns that are over. */
  async leftovers(): Promise<{ running: number; journal: number }> {
    const count = async (from: string) =>
      Number((await runSql(this.postgresUrl, `select count(*) from ${from}`))[0]?.["count"]);
    return { running: await count("running_turns"), journal: await count("turn_journal where not kept") };
  }

  async effects(): Promise<Effect[]> {
    const rows = await runSql(
      this.postgresUrl,
      `select n::int, idempotency_key as "idempotencyKey", call, key, executor, begun::float8 from effects order by n`,
    );
    return rows as unknown as Effect[];
  }

  async #events(ref: SessionRef): Promise<SessionEvent[]> {
    const { store, log } = this.parts;
    const events: SessionEvent[] = [];
    for (let after = 0; ;) {
      const page = await store.archive.events(ref, { after, limit: 500 });
      if (page.length === 0) break;
      events.push(...page);
      after = Number(page.at(-1)?.id.split("-")[1]);
    }
    for (let after = events.at(-1)?.id ?? "0-0"; ;) {
      const page = await log.read(ref.session, { after });
      if (!page.ok || page.entries.length === 0) return events;
      events.push(...page.entries.map((entry) => entry.event));
      after = page.entries.at(-1)?.cursor ?? after;
    }
  }

  async #end(): Promise<void> {
    await Promise.all([...this.followers].map((follower) => follower.stop()));
    await Promise.all(this.workers.filter((worker) => !worker.isOver).map((worker) => worker.kill()));
    await this.#close();
  }
}

export function turnOf(state: SessionState, message: string): Turn | undefined {
  return state.turns.toArray().findLast((turn) => turn.message?.id === message);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
