/**
 * `JobQueue` queues, fetches and deletes jobs with pg-boss, in a schema of its own. It knows nothing of turns.
 *
 * Invariant: it uses only the public functions of pg-boss, on the connections of the store, so a job is queued and
 * deleted in the transaction of the caller. pg-boss never expires, fails or deletes a queued job by itself. It returns a
 * fetched job to the queue if its heartbeat stays away.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { sql } from "kysely";
import { fromKysely, type Db as BossDatabase, PgBoss } from "pg-boss";
import { type SessionRef, sessionKey } from "../../util/refs.ts";
import { StoreError } from "../errors.ts";
import type { TurnJob } from "../ports/jobs.ts";
import { HEARTBEAT_SECONDS } from "../rules/jobs.ts";
import type { Db } from "./database.ts";

/** The longest that pg-boss accepts. A fetched job is started or returned within seconds. */
const EXPIRE_SECONDS = 24 * 60 * 60;
/** About 60 years. pg-boss deletes jobs that are queued for longer. */
const FOREVER = 2_000_000_000;
const QUEUE_OPTIONS = {
  policy: "exclusive",
  retryLimit: FOREVER,
  retryDelay: 0,
  retryBackoff: false,
  expireInSeconds: EXPIRE_SECONDS,
  retentionSeconds: FOREVER,
  heartbeatSeconds: HEARTBEAT_SECONDS,
} as const;
/** How often one of all processes looks for missed heartbeats. */
const MONITOR_SECONDS = 5;

/** Where a job is queued. Turns that must run alone have queues of their own kind. */
export interface QueueKey {
  readonly agent: string | null;
  readonly alone: boolean;
}

export interface QueuedJob extends SessionRef, QueueKey {
  readonly id: string;
  readonly user: string;
  readonly rank: number;
  readonly deaths: number;
  readonly delayMs?: number;
}

interface JobData {
  readonly rank: number;
  readonly tenant: string;
  readonly session: string;
  readonly user: string;
  readonly deaths: number;
}

export class JobQueue {
  readonly #db: Db;
  /** The connection on which the current call of pg-boss runs. Timers of pg-boss find none, and use the pool. */
  readonly #connection = new AsyncLocalStorage<{ db: Db | null }>();
  #starting: Promise<PgBoss> | null = null;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Queues jobs. The caller has made sure that their sessions have no other job. */
  async add(tx: Db, jobs: readonly QueuedJob[]): Promise<void> {
    await this.#run(tx, async (boss) => {
      for (const [name, group] of groupBy(jobs, queueName))
        await boss.insert(name, group.map(toInsert), { returnId: false });
    });
  }

  /** Deletes jobs, queued or fetched. */
  async delete(tx: Db, jobs: readonly (QueueKey & { readonly id: string })[]): Promise<void> {
    await this.#run(tx, async (boss) => {
      for (const [name, group] of groupBy(jobs, queueName))
        await boss.deleteJob(
          name,
          group.map(({ id }) => id),
        );
    });
  }

  /** Fetches jobs of several queues. Each gets its part of `limit` first; the queues take turns to be the first one. */
  async fetch(
    keys: readonly QueueKey[],
    { limit, skipTenants }: { readonly limit: number; readonly skipTenants: readonly string[] },
  ): Promise<TurnJob[]> {
    return this.#run(this.#db, async (boss) => {
      const fetched: (TurnJob & { readonly rank: number })[] = [];
      const part = Math.ceil(limit / Math.max(keys.length, 1));
      let open = shuffled(keys);
      for (const most of [part, limit]) {
        const full: QueueKey[] = [];
        for (const key of open) {
          const batchSize = Math.min(most, limit - fetched.length);
          if (batchSize === 0) break;
          const query = { batchSize, ignoreGroups: [...skipTenants] };
          const jobs = await boss.fetch<JobData>(queueName(key), query);
          fetched.push(...jobs.map(({ id, data }) => ({ id, ...data, ...key })));
          if (jobs.length === batchSize) full.push(key);
        }
        open = full;
      }
      // pg-boss returns a batch in no order.
      return fetched.toSorted((a, b) => a.rank - b.rank).map(({ rank: _, ...job }) => job);
    });
  }

  /** @returns ids of jobs that are no longer fetched */
  async touch(jobs: readonly TurnJob[]): Promise<string[]> {
    return this.#run(this.#db, async (boss) => {
      const lost: string[] = [];
      for (const [name, group] of groupBy(jobs, queueName)) {
        const ids = group.map(({ id }) => id);
        await boss.touch(name, ids);
        // Only jobs between their fetch and their start are here, so these are few.
        for (const id of ids) {
          const [job] = await boss.findJobs(name, { id });
          if (job?.state !== "active") lost.push(id);
        }
      }
      return lost;
    });
  }

  /** Returns fetched jobs to their queues. */
  async return(tx: Db, jobs: readonly TurnJob[], delayMs: number): Promise<void> {
    await this.#run(tx, async (boss) => {
      for (const [name, group] of groupBy(jobs, queueName)) {
        const ids = group.map(({ id }) => id);
        await boss.fail(name, ids);
        if (delayMs > 0)
          for (const id of ids) await boss.update(name, undefined, { id, startAfter: delayMs / 1_000 });
      }
    });
  }

  /** Creates the queues of agents, unless they exist. Not in a transaction of the caller. */
  async create(agents: readonly string[]): Promise<void> {
    await this.#run(this.#db, async (boss) => {
      const names = [...agents, null].flatMap((agent) =>
        [false, true].map((alone) => queueName({ agent, alone })),
      );
      const existing = new Set((await boss.getQueues(names)).map(({ name }) => name));
      for (const name of names) if (!existing.has(name)) await boss.createQueue(name, QUEUE_OPTIONS);
    });
  }

  /** Returns jobs without heartbeats to their queues, once per interval over all processes. */
  async maintain(): Promise<void> {
    await this.#run(this.#db, (boss) => boss.supervise(undefined, { reindex: false }));
  }

  async close(): Promise<void> {
    const boss = await this.#starting?.catch(() => null);
    await boss?.stop({ graceful: false, close: false });
  }

  async #run<T>(db: Db, work: (boss: PgBoss) => Promise<T>): Promise<T> {
    const scope: { db: Db | null } = { db };
    try {
      return await this.#connection.run(scope, async () => work(await this.#start()));
    } finally {
      scope.db = null;
    }
  }

  #start(): Promise<PgBoss> {
    this.#starting ??= this.#open().catch((error: unknown) => {
      this.#starting = null;
      throw error;
    });
    return this.#starting;
  }

  async #open(): Promise<PgBoss> {
    const execute: Execute = (text, values) =>
      runOn(this.#connection.getStore()?.db ?? this.#db, text, values);
    const boss = await createBoss(execute);
    try {
      if (!(await boss.isInstalled())) throw new StoreError("NOT_MIGRATED", "the job queue");
      return await boss.start();
    } catch (error) {
      await boss.stop({ graceful: false, close: false });
      throw error;
    }
  }
}

type Execute = BossDatabase["executeSql"];

/** The schema of the job queue, next to that of the store. */
export function jobSchema(schema: string): string {
  return `${schema}_jobs`;
}

/** Installs or updates the tables of pg-boss, in a schema next to that of the connection. */
export async function installJobQueue(connection: Db): Promise<void> {
  // pg-boss lets the statements of others wait longer for its migrations.
  const execute: Execute = (text, values) =>
    runOn(
      connection,
      text.replaceAll(/set local lock_timeout = \d+/gi, "set local lock_timeout = 2000"),
      values,
    );
  const boss = await createBoss(execute, { migrate: true });
  const queue = new JobQueue(connection);
  try {
    await boss.start();
    await queue.create([]);
  } catch (error) {
    // pg-boss begins its own transaction. After an error the connection would stay in it.
    await runOn(connection, "rollback");
    throw error;
  } finally {
    await boss.stop({ graceful: false, close: false });
    await queue.close();
  }
}

/**
 * Drops the foreign keys of jobs to their queue. Each queued job would lock the queue's row, and concurrent locks of one
 * row make multixacts. pg-boss itself refuses jobs of an unknown queue.
 */
export async function dropQueueReferences(tx: Db): Promise<void> {
  await sql`do $$
    declare fk record;
    begin
      for fk in select c.conrelid::regclass as child, c.conname as name
        from pg_constraint c join pg_class t on t.oid = c.conrelid
        where c.contype = 'f' and c.conparentid = 0 and t.relname in ('job', 'job_common')
          and c.confrelid = to_regclass(
            trim(split_part(current_setting('search_path'), ',', 1)) || '_jobs.queue')
      loop
        execute format('alter table %s drop constraint %I', fk.child, fk.name);
      end loop;
    end $$`.execute(tx);
}

async function createBoss(execute: Execute, { migrate = false } = {}): Promise<PgBoss> {
  const { rows } = await execute(`
    select name, exists (select from pg_namespace where nspname = name || '_jobs') as "isThere"
    from (select trim(split_part(current_setting('search_path'), ',', 1)) as name) schema`);
  const { name, isThere } = rows[0] as { readonly name: string; readonly isThere: boolean };
  const boss = new PgBoss({
    db: { executeSql: execute },
    schema: jobSchema(name),
    migrate,
    // A role that may not create schemas can use one that its owner has created.
    createSchema: migrate && !isThere,
    supervise: false,
    schedule: false,
    reindex: false,
    monitorVacuum: false,
    monitorIntervalSeconds: MONITOR_SECONDS,
  });
  // Calls reject with the same errors. Without a listener, an error of a timer would end the process.
  boss.on("error", () => undefined);
  return boss;
}

function runOn(db: Db, text: string, values?: unknown[]) {
  return fromKysely(db).executeSql(text, values);
}

/** The names of pg-boss have letters, digits, `_`, `-`, `.` and `/`. Other bytes of an agent's name follow a `/`. */
function queueName({ agent, alone }: QueueKey): string {
  const kind = alone ? "alone" : "turns";
  if (agent === null) return kind;
  const encoded = agent.replaceAll(/[^\w.-]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `/${byte.toString(16).padStart(2, "0")}`).join(""),
  );
  return `${kind}.${encoded}`;
}

function toInsert({ id, tenant, session, user, deaths, rank, delayMs = 0 }: QueuedJob) {
  const data: JobData = { tenant, session, user, deaths, rank };
  const place = { priority: -rank, singletonKey: sessionKey({ tenant, session }), group: { id: tenant } };
  return { id, data, ...place, ...(delayMs > 0 && { startAfter: `${delayMs / 1_000} seconds` }) };
}

function groupBy<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

function shuffled<T>(all: readonly T[]): T[] {
  const first = Math.floor(Math.random() * all.length);
  return [...all.slice(first), ...all.slice(0, first)];
}
