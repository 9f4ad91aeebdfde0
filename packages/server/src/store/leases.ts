/**
 * `Leases` is the part of the store for the leases of processes, and `postgresLeases` its implementation. `LeaseLock`
 * holds an advisory lock on a connection of its own while the process lives: the database releases it as soon as the
 * process dies, long before its lease expires.
 *
 * Invariant: leases are compared with the database's clock, in the statement that changes them. A process is dead if
 * its lease has expired, or if it had a lock at its last renewal and has none now. Another process takes a missing lock
 * for a death only if its own lock has existed, on the same server, since before the other's last renewal. So a restart
 * or a failover of the database, which ends all locks, ends no process. A lost connection is never used again.
 */
import { sql, type RawBuilder } from "kysely";
import { withTimeout } from "../util/with-timeout.ts";
import type { Db } from "./database/database.ts";
import { clockPlus, clock, ago, bytewiseOrder } from "./database/session-row.ts";
import { checkDuration, checkLimit, MAX_BATCH } from "./rules/arguments.ts";

/**
 * The part of the store for executor leases: which worker processes are alive, by the store's clock and not by theirs. It only
 * decides which process may take over a dead one; it does not move work.
 */
export interface Leases {
  /**
   * Starts or extends the executor's lease. Returns false if another process has taken it over: restart with a new id.
   */
  take(executor: string, ttlMs: number): Promise<boolean>;
  /**
   * Extends the lease, even if it has expired. Returns false if it was taken over or released: stop working.
   * @param options.reachesLog whether the executor can reach the log now. Default: true
   */
  renew(executor: string, ttlMs: number, options?: { readonly reachesLog?: boolean }): Promise<boolean>;
  /** Returns the time of the store's clock, which leases and turns follow, in milliseconds since 1970. */
  clock(): Promise<number>;
  /** Returns true if another live executor renewed its lease within this time and could reach the log then. */
  otherReachesLog(executor: string, withinMs: number): Promise<boolean>;
  /**
   * Lets other processes that also hold a lock notice the death of this one within seconds, where the store can detect it. From
   * then on, renew the lease every second. Call it after `take`, and again at times: it does nothing while it holds.
   * Returns false if only the lease's time counts.
   */
  hold(executor: string): Promise<boolean>;
  /** Returns executors whose lease has expired and that no live process has taken over, the longest expired first. */
  expired(limit: number): Promise<string[]>;
  /**
   * Returns whether a worker is alive, and whether a lease has expired, taken over or not: then some turns may be
   * interrupted.
   */
  status(): Promise<{ readonly anyLive: boolean; readonly anyExpired: boolean }>;
  /**
   * Takes over an executor from `expired`. Of several callers one gets true, and gets it again on a repeat. It calls
   * `release(executor, by)` after it has moved the work. If it dies before that, the executor is in `expired` again.
   */
  takeDead(executor: string, by: string): Promise<boolean>;
  /**
   * Ends the lease of an executor that has no turns. The caller is the executor itself (`by` is `executor`), or the process
   * that took it over and has moved its work (`by`). Returns false and changes nothing if `by` does not have the lease, or
   * the executor still has turns. So an executor that was taken over and resumes can't end its successor's lease.
   * `queue.leave` ends a lease with turns.
   */
  release(executor: string, by: string): Promise<boolean>;
}

/** A connection that doesn't answer for this long counts as lost. */
const TIMEOUT_MS = 2_000;

interface OwnLock {
  readonly executor: string;
  readonly connection: Db;
  /** The database's time at which the lock was taken. */
  readonly since: number;
  readonly release: () => void;
}

export class LeaseLock {
  readonly #db: Db;
  readonly #isEnabled: boolean;
  #lock: OwnLock | null = null;

  constructor(db: Db, isEnabled: boolean) {
    this.#db = db;
    this.#isEnabled = isEnabled;
  }

  isOwnedBy(executor: string): boolean {
    return this.#lock?.executor === executor;
  }

  /** Takes the lock, unless this process has it. A process that lost its lease starts again under another name. */
  async hold(executor: string): Promise<boolean> {
    if (!this.#isEnabled) return false;
    if (this.isOwnedBy(executor)) return true;
    this.release();
    return new Promise<boolean>((resolve, reject) => {
      // The connection leaves the pool until `release`.
      const used = this.#db.connection().execute(async (connection) => {
        const { rows } = await sql<{ isLocked: boolean; since: number }>`
          select pg_try_advisory_lock(${lockKey(sql`${executor}`)}) as "isLocked", clock_timestamp() as since`.execute(
          connection,
        );
        const [row] = rows;
        if (row?.isLocked !== true || this.#lock !== null) {
          resolve(this.isOwnedBy(executor));
          return;
        }
        await new Promise<void>((release) => {
          this.#lock = { executor, connection, since: row.since, release };
          resolve(true);
        });
        // Other users of the pool must not get the lock. It fails if the connection is lost, and then it has none.
        await sql`select pg_advisory_unlock_all()`.execute(connection).catch(() => undefined);
      });
      used.catch(reject);
    });
  }

  /** Runs work on the connection of the lock. Returns null if this process has no lock, or has lost it. */
  async run<T>(work: (connection: Db, since: number) => Promise<T>): Promise<T | null> {
    const lock = this.#lock;
    if (lock === null) return null;
    try {
      return await withTimeout(work(lock.connection, lock.since), { ms: TIMEOUT_MS, onTimeout });
    } catch {
      this.release();
      return null;
    }
  }

  release(): void {
    this.#lock?.release();
    this.#lock = null;
  }
}

function onTimeout(): never {
  throw new Error("the lock's connection does not answer");
}

/** The key of an executor's lock. Schemas of one database have different keys. */
export function lockKey(executor: RawBuilder<unknown>) {
  return sql<number>`hashtextextended(current_schema() || ' lease ' || ${executor}::text, 0)`;
}

/** A process with a lock renews its lease more often. One that lost its lock has time to record that. */
const UNRENEWED_MS = 2_000;

export function postgresLeases(db: Db, lock: LeaseLock): Leases {
  const renewal = (executor: string, ttlMs: number) => ({
    until: clockPlus(checkDuration(ttlMs, "ttlMs")),
    renewed_at: clock,
    has_lock: lock.isOwnedBy(executor),
  });
  return {
    async take(executor, ttlMs) {
      const lease = renewal(executor, ttlMs);
      const row = await db
        .insertInto("leases")
        .values({ executor, ...lease })
        .onConflict((oc) => oc.column("executor").doUpdateSet(lease).where("leases.taken_by", "is", null))
        .returning("executor")
        .executeTakeFirst();
      return row !== undefined;
    },
    async renew(executor, ttlMs, { reachesLog = true } = {}) {
      const { numUpdatedRows } = await db
        .updateTable("leases")
        .set({ ...renewal(executor, ttlMs), ...(reachesLog && { log_reached_at: clock }) })
        .where("executor", "=", executor)
        .where("taken_by", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    hold: (executor) => lock.hold(executor),
    async clock() {
      const { rows } = await sql<{ now: number }>`select ${clock} as now`.execute(db);
      return rows[0]?.now ?? 0;
    },
    async otherReachesLog(executor, withinMs) {
      const { rows } = await sql`
        select from leases where executor <> ${executor} and taken_by is null and until >= ${ago(0)}
          and log_reached_at >= ${ago(checkDuration(withinMs, "withinMs"))} limit 1`.execute(db);
      return rows.length > 0;
    },
    async expired(limit) {
      const most = checkLimit(limit, MAX_BATCH);
      const find = (on: Db, since: number | null) =>
        on
          .selectFrom("leases")
          .select("executor")
          .where(isDead(since))
          .orderBy("until")
          .orderBy(bytewiseOrder("executor"))
          .limit(most)
          .execute();
      const rows = (await lock.run(find)) ?? (await find(db, null));
      return rows.map((row) => row.executor);
    },
    async status() {
      const { rows } = await sql<{ anyLive: boolean; anyExpired: boolean }>`
        select exists (select from leases where until >= ${ago(0)}) as "anyLive",
          exists (select from leases where until < ${ago(0)}) as "anyExpired"`.execute(db);
      return rows[0] ?? { anyLive: false, anyExpired: false };
    },
    async takeDead(executor, by) {
      if (executor === by) return false;
      const takeOver = (on: Db, since: number | null) =>
        on
          .updateTable("leases")
          .set({ taken_by: by, until: sql<Date>`least(until, ${clockPlus(-1)})` })
          .where("executor", "=", executor)
          .where((eb) => eb.or([eb("taken_by", "=", by), isDead(since)]))
          .executeTakeFirst();
      const { numUpdatedRows } = (await lock.run(takeOver)) ?? (await takeOver(db, null));
      return numUpdatedRows === 1n;
    },
    async release(executor, by) {
      const { numDeletedRows } = await db
        .deleteFrom("leases")
        .where("executor", "=", executor)
        .where("taken_by", "is not distinct from", by === executor ? null : by)
        .where(sql<boolean>`not exists (select from turn_queue q where q.executor = ${executor})`)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
  };
}

/**
 * True if the lease has expired or its process has died, and no live process has taken it over.
 * @param since from when on the caller has had its own lock, or null
 */
function isDead(since: number | null) {
  const hasLostLock = since === null ? sql`false` : lostLock(since);
  return sql<boolean>`((leases.until < ${ago(0)} or ${hasLostLock})
    and (leases.taken_by is null or not exists (select from leases taker
      where taker.executor = leases.taken_by and taker.until >= ${ago(0)} and taker.taken_by is null)))`;
}

/** The key of a lock is a bigint. `pg_locks` shows its halves. */
function lostLock(since: number) {
  return sql<boolean>`(has_lock and renewed_at > ${new Date(since)} and renewed_at < ${ago(UNRENEWED_MS)}
    and not exists (select from pg_locks l
      where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
        and l.database = (select oid from pg_database where datname = current_database())
        and (l.classid::bigint << 32 | l.objid::bigint) = ${lockKey(sql.ref("leases.executor"))}))`;
}
