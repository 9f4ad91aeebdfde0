/** Executor leases on PostgreSQL. Every comparison is made by the database's clock, in the statement itself. */
import { type ExpressionBuilder, sql } from "kysely";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import type { Leases } from "../ports/leases.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Database, Db } from "./database.ts";
import { ago, byBytes, clockPlus } from "./session-row.ts";

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
    async renew(executor, ttlMs) {
      const { numUpdatedRows } = await db
        .updateTable("leases")
        .set({ until: clockPlus(checkDuration(ttlMs, "ttlMs")) })
        .where("executor", "=", executor)
        .where("taken_by", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async expired(limit) {
      const rows = await db
        .selectFrom("leases")
        .select("executor")
        .where(isDead)
        .orderBy("until")
        .orderBy(byBytes("executor"))
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map((row) => row.executor);
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

/** Run out, and taken by nobody or by one that is dead too. */
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
