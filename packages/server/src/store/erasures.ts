/**
 * `eraseSessions`, `eraseUser` and `eraseExpired` erase sessions. Foreign keys with ON DELETE CASCADE erase all rows of
 * a session. They do not delete logs. `takeErasures` claims erasures whose logs must be deleted.
 *
 * No foreign key deletes archived events, turns and the journal. An expired session leaves them, to be dropped with
 * their period. No session can read them: a new one with the same id has a later period. All other erasures delete
 * them.
 *
 * Invariant: every erased session leaves a row in `erasures`, in the same commit, until its log is deleted too.
 * Sessions are locked before they are deleted. Every column with a user id in the tables of a session must be in
 * `USER_COLUMNS`.
 */
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import { currentPeriod, PARTITIONED } from "./archive-periods.ts";
import type { Db } from "./database/database.ts";
import type { UserColumn } from "./features.ts";
import { inTransaction, bytewiseOrder, ago, clock, clockPlus, ofSession } from "./database/session-row.ts";
import { checkDuration, checkLimit, MAX_BATCH } from "./rules/arguments.ts";
import { lockTurns } from "./turn-queue.ts";

export interface TakeErasuresQuery {
  readonly limit: number;
  /** How long no other process takes them. */
  readonly leaseMs: number;
  /** An erasure whose log was deleted before is taken once more, this long after its request. */
  readonly graceMs: number;
}

/** Every column with a user id in the tables of a session. Those of features are in the table `features`. */
const USER_COLUMNS: readonly UserColumn[] = [
  ["interaction_changes", "by_user"],
  ["allowances", "by_user"],
  ["uploads", "by_user"],
  ["waiting_messages", "by_user"],
  ["running_turns", "message_by"],
  ["running_turns", "stop_by"],
];

/** The tables with rows of a user that belong to no session. The audit keeps the user's number. */
const TABLES_OF_USERS = ["memories", "idempotency_keys", "caller_limits", "usage_user_days", "stored_bytes"];

/**
 * Erases all sessions of a tenant, or one of them.
 * @returns their ids
 */
export function eraseSessions(
  db: Db,
  of: { readonly tenant: string; readonly session?: string },
): Promise<string[]> {
  return inTransaction(db, async (tx) => {
    let found = tx.selectFrom("sessions").select("id").where("tenant_id", "=", of.tenant);
    if (of.session !== undefined) found = found.where("id", "=", of.session);
    // Locked in the order of their ids, so that two erasures of the same sessions don't deadlock.
    const rows = await found.orderBy(bytewiseOrder("id")).forUpdate().execute();
    return deleteAndNote(tx, of.tenant, rows);
  });
}

/**
 * Erases the sessions of a user, and the user's id in other sessions of the tenant.
 * @returns the ids of the erased sessions
 */
export function eraseUser(db: Db, tenant: string, user: string): Promise<string[]> {
  return inTransaction(db, async (tx) => {
    const columns = [...USER_COLUMNS, ...(await columnsOfFeatures(tx))];
    const traces = columns.map(
      ([name, column]) => sql`union all select session_id from ${sql.table(name)}
        where tenant_id = ${tenant} and ${sql.ref(column)} = ${user}`,
    );
    // Locks all of them at once, in the order of their ids: users who appear in each other's sessions may be erased
    // concurrently.
    const { rows } = await sql<{ id: string; user_id: string }>`
      select id, user_id from sessions where tenant_id = ${tenant} and id in (
        select id from sessions own where own.tenant_id = ${tenant} and own.user_id = ${user}
        ${sql.join(traces, sql` `)})
      order by ${bytewiseOrder("id")} for update`.execute(tx);
    const own = rows.filter((row) => row.user_id === user);
    // A process that starts a turn copies the sender of its message.
    await lockTurns(
      tx,
      tenant,
      rows.map(({ id }) => id),
    );
    const removed = await deleteAndNote(tx, tenant, own);
    for (const [name, column] of columns)
      await sql`update ${sql.table(name)} set ${sql.ref(column)} = null
        where tenant_id = ${tenant} and ${sql.ref(column)} = ${user}`.execute(tx);
    for (const table of TABLES_OF_USERS)
      await sql`delete from ${sql.table(table)} where tenant_id = ${tenant} and user_id = ${user}`.execute(
        tx,
      );
    return removed;
  });
}

/** Also of features that this process doesn't have. */
async function columnsOfFeatures(tx: Db): Promise<UserColumn[]> {
  const rows = await tx.selectFrom("features").select("user_columns").execute();
  return rows.flatMap((row) => row.user_columns.map((column) => column.split(".") as unknown as UserColumn));
}

export async function eraseExpired(
  db: Db,
  query: { readonly olderThanMs: number; readonly limit: number },
): Promise<SessionRef[]> {
  const olderThanMs = checkDuration(query.olderThanMs, "olderThanMs");
  const limit = checkLimit(query.limit, MAX_BATCH);
  return inTransaction(db, async (tx) => {
    const rows = await tx
      .selectFrom("sessions")
      .select(["tenant_id", "id"])
      .select(sql<boolean>`period < ${currentPeriod}`.as("isInOldPeriod"))
      .where("updated_at", "<", ago(olderThanMs))
      .orderBy("updated_at")
      .orderBy(bytewiseOrder("id"))
      .limit(limit)
      .forUpdate()
      // A locked session is in use, so skip it. A session that was updated meanwhile is compared with its new time.
      .skipLocked()
      .execute();
    const erased: SessionRef[] = [];
    for (const tenant of new Set(rows.map(({ tenant_id }) => tenant_id))) {
      const ofTenant = rows.filter(({ tenant_id }) => tenant_id === tenant);
      for (const session of await deleteAndNote(tx, tenant, ofTenant)) erased.push({ tenant, session });
    }
    return erased;
  });
}

/** Deletes sessions of a tenant and records their erasure. The caller must have locked them. */
async function deleteAndNote(
  tx: Db,
  tenant: string,
  sessions: readonly { readonly id: string; readonly isInOldPeriod?: boolean }[],
): Promise<string[]> {
  if (sessions.length === 0) return [];
  // Deleting a long history takes long. With a timeout, each attempt would be cut off and the erasure would never
  // finish.
  await sql`select set_config('statement_timeout', '0', true)`.execute(tx);
  const ids = sessions.map(({ id }) => id);
  await lockTurns(tx, tenant, ids);
  const withRows = sessions.filter(({ isInOldPeriod }) => isInOldPeriod !== true).map(({ id }) => id);
  // Of all periods: a session that was moved has rows in two of them.
  if (withRows.length > 0)
    for (const name of PARTITIONED)
      await tx
        .deleteFrom(name)
        .where("tenant_id", "=", tenant)
        .where("session_id", "=", sql<string>`any(${withRows}::text[])`)
        .execute();
  const { rows } = await sql<{ session: string }>`
    with gone as (
      delete from sessions where tenant_id = ${tenant} and id = any(${ids}::text[]) returning tenant_id, id)
    insert into erasures (tenant_id, session_id) select tenant_id, id from gone
    on conflict (tenant_id, session_id) do update set requested_at = ${clock}, is_log_removed = false
    returning session_id as session`.execute(tx);
  return rows.map(({ session }) => session).toSorted();
}

/** Claims erasures in one statement, and no lock outlives it. */
export async function takeErasures(db: Db, query: TakeErasuresQuery): Promise<SessionRef[]> {
  const graceMs = checkDuration(query.graceMs, "graceMs");
  const { rows } = await sql<{ tenant: string; session: string }>`
    with due as (
      select tenant_id, session_id from erasures
      where (claimed_until is null or claimed_until <= ${ago(0)})
        and (not is_log_removed or requested_at <= ${ago(graceMs)})
      order by requested_at, tenant_id collate "C", session_id collate "C"
      limit ${checkLimit(query.limit, MAX_BATCH)} for update skip locked)
    update erasures e set claimed_until = ${clockPlus(checkDuration(query.leaseMs, "leaseMs"))}
    from due where e.tenant_id = due.tenant_id and e.session_id = due.session_id
    returning e.tenant_id as tenant, e.session_id as session`.execute(db);
  return rows;
}

/** Deletes the record, or if it is too young releases it. */
export async function finishErasure(
  db: Db,
  ref: SessionRef,
  query: { readonly olderThanMs: number },
): Promise<boolean> {
  const graceMs = checkDuration(query.olderThanMs, "olderThanMs");
  const { numDeletedRows } = await ofSession(db.deleteFrom("erasures"), ref)
    .where("requested_at", "<=", ago(graceMs))
    .executeTakeFirst();
  if (numDeletedRows === 1n) return true;
  await ofSession(db.updateTable("erasures"), ref)
    .set({ is_log_removed: true, claimed_until: null })
    .execute();
  return false;
}
