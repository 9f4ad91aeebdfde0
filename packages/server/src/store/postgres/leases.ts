/**
 * `postgresLeases` implements executor leases on PostgreSQL.
 *
 * Invariant: leases are compared with the database's clock, in the statement that changes them. An executor is dead if
 * its lease has expired, or if it had a lock at its last renewal and has none now; see `LeaseLock`.
 */
import { type ExpressionBuilder, type RawBuilder, sql } from "kysely";
import type { Leases } from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import type { Database, Db } from "./database.ts";
import { type LeaseLock, lockKey } from "./lease-lock.ts";
import { ago, bytewiseOrder, clock, clockPlus } from "./session-row.ts";

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
      const { rows } = await sql<{ ms: number }>`
        select extract(epoch from ${clock})::double precision * 1000 as ms`.execute(db);
      return Math.round(rows[0]?.ms ?? 0);
    },
    async otherReachesLog(executor, withinMs) {
      const row = await db
        .selectFrom("leases")
        .select("executor")
        .where("executor", "!=", executor)
        .where("taken_by", "is", null)
        .where("until", ">=", ago(0))
        .where("log_reached_at", ">=", ago(checkDuration(withinMs, "withinMs")))
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
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
          .set({ taken_by: by, until: expiredNow })
          .where("executor", "=", executor)
          .where((eb) => eb.or([eb("taken_by", "=", by), isDead(since)(eb)]))
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

const expiredNow: RawBuilder<Date> = sql<Date>`least(until, ${clockPlus(-1)})`;

/**
 * True if the lease has expired or its process has died, and no live process has taken it over.
 * @param since from when on the caller has had its own lock, or null
 */
function isDead(since: number | null) {
  return (eb: ExpressionBuilder<Database, "leases">) => {
    const now = ago(0);
    const takerLives = eb
      .selectFrom("leases as taker")
      .select("taker.executor")
      .whereRef("taker.executor", "=", "leases.taken_by")
      .where("taker.until", ">=", now)
      .where("taker.taken_by", "is", null);
    return eb.and([
      eb.or([eb("leases.until", "<", now), ...(since === null ? [] : [lostLock(since)])]),
      eb.or([eb("leases.taken_by", "is", null), eb.not(eb.exists(takerLives))]),
    ]);
  };
}

/** The key of a lock is a bigint. `pg_locks` shows its halves. */
function lostLock(since: number) {
  return sql<boolean>`(has_lock and renewed_at > ${new Date(since)} and renewed_at < ${ago(UNRENEWED_MS)}
    and not exists (select from pg_locks l
      where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
        and l.database = (select oid from pg_database where datname = current_database())
        and (l.classid::bigint << 32 | l.objid::bigint) = ${lockKey(sql.ref("leases.executor"))}))`;
}
