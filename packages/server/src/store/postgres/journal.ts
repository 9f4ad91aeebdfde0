/**
 * `postgresJournal` and `postgresLeases` implement the journal and executor leases on PostgreSQL.
 *
 * Invariant: a journal write is one statement that locks the session, compares its epoch and adds the entries. Archiving
 * takes the same lock, so both fit into one transaction in any order. Leases are compared with the database's clock, in
 * the statement that changes them.
 */
import { type ExpressionBuilder, sql } from "kysely";
import type { Journal, Leases } from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import { checkRetainedTurns } from "../rules/running.ts";
import type { Database, Db } from "./database.ts";
import { ago, bytewiseOrder, clock, clockPlus, withSessionLock, ofSession } from "./session-row.ts";
import { writeJournal } from "./write-archive.ts";

export function postgresJournal(db: Db): Journal {
  const rowsOf = (ref: SessionRef) => ofSession(db.selectFrom("turn_journal"), ref).orderBy("n");
  return {
    write: async (ref, ...entries) => ((await writeJournal(db, ref, entries)) > 0 ? "written" : "already"),
    read: (ref, turn) => rowsOf(ref).select(["key", "value"]).where("turn", "=", turn).execute(),
    retained: (ref, turns) =>
      rowsOf(ref)
        .select(["turn", "key", "value"])
        .where("turn", "=", sql<string>`any(${[...checkRetainedTurns(turns)]}::text[])`)
        .where("kept", "=", true)
        .execute(),
    async close(ref, turn) {
      const { numDeletedRows } = await withSessionLock(db, ref)
        .deleteFrom("turn_journal")
        .using("held")
        .whereRef("turn_journal.tenant_id", "=", "held.tenant_id")
        .whereRef("turn_journal.session_id", "=", "held.id")
        .where("turn", "=", turn)
        .where("kept", "=", false)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

/** Every comparison uses the database's clock, in the statement itself. */
export function postgresLeases(db: Db): Leases {
  return {
    async take(executor, ttlMs) {
      const until = clockPlus(checkDuration(ttlMs, "ttlMs"));
      const row = await db
        .insertInto("leases")
        .values({ executor: executor, until })
        .onConflict((oc) => oc.column("executor").doUpdateSet({ until }).where("leases.taken_by", "is", null))
        .returning("executor")
        .executeTakeFirst();
      return row !== undefined;
    },
    async renew(executor, ttlMs, { reachesLog = true } = {}) {
      const until = clockPlus(checkDuration(ttlMs, "ttlMs"));
      const { numUpdatedRows } = await db
        .updateTable("leases")
        .set(reachesLog ? { until, log_reached_at: clock } : { until })
        .where("executor", "=", executor)
        .where("taken_by", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
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
      const rows = await db
        .selectFrom("leases")
        .select("executor")
        .where(isDead)
        .orderBy("until")
        .orderBy(bytewiseOrder("executor"))
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
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
      const { numUpdatedRows } = await db
        .updateTable("leases")
        .set({ taken_by: by })
        .where("executor", "=", executor)
        .where((eb) => eb.or([eb("taken_by", "=", by), isDead(eb)]))
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async unknown(executors) {
      if (executors.length === 0) return [];
      const rows = await db
        .selectFrom("leases")
        .select("executor")
        .where("executor", "in", executors.slice(0, MAX_BATCH))
        .execute();
      const known = new Set(rows.map((row) => row.executor));
      return executors.slice(0, MAX_BATCH).filter((executor) => !known.has(executor));
    },
    async leave(executor) {
      const { numUpdatedRows } = await db
        .updateTable("leases")
        .set({ until: sql<Date>`least(until, ${clockPlus(-1)})` })
        .where("executor", "=", executor)
        .where("taken_by", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async release(executor, by) {
      const { numDeletedRows } = await db
        .deleteFrom("leases")
        .where("executor", "=", executor)
        .where("taken_by", "is not distinct from", by === executor ? null : by)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
  };
}

/** True if the lease has expired, and no live process has taken it over. */
function isDead(eb: ExpressionBuilder<Database, "leases">) {
  const now = ago(0);
  const takerLives = eb
    .selectFrom("leases as taker")
    .select("taker.executor")
    .whereRef("taker.executor", "=", "leases.taken_by")
    .where("taker.until", ">=", now)
    .where("taker.taken_by", "is", null);
  return eb.and([
    eb("leases.until", "<", now),
    eb.or([eb("leases.taken_by", "is", null), eb.not(eb.exists(takerLives))]),
  ]);
}
