/**
 * `eraseSessions`, `eraseUser` and `eraseExpired` erase sessions on PostgreSQL. Foreign keys with ON DELETE CASCADE
 * erase all rows of a session. They do not delete logs.
 *
 * Invariant: every erased session leaves a row in `erasures`, in the same commit, until its log is deleted too.
 * Sessions are locked before they are deleted. Every column with a user id in the tables of a session must be in
 * `withTraceOf` and `unname`.
 */
import { sql } from "kysely";
import { checkDuration, checkLimit, checkTime } from "../rules/arguments.ts";
import { type Erasure, MAX_BATCH } from "../ports/sessions.ts";
import type { Db } from "./database.ts";
import { deleteRequestsOfUser } from "./access.ts";
import { removeMemories } from "./memories.ts";
import { ago, bytewiseOrder, clock, inTransaction } from "./session-row.ts";

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
    return deleteAndNote(
      tx,
      rows.map(({ id }) => id),
    );
  });
}

/**
 * Erases the sessions of a user, and the user's id in other sessions of the tenant.
 * @returns the ids of the erased sessions
 */
export function eraseUser(db: Db, tenant: string, user: string): Promise<string[]> {
  return inTransaction(db, async (tx) => {
    const rows = await withTraceOf(tx, tenant, user)
      .select(["id", "user_id"])
      // Lock all of them at once, in the order of their ids: users who appear in each other's sessions may be erased
      // concurrently.
      .orderBy(bytewiseOrder("id"))
      .forUpdate()
      .execute();
    const own = rows.filter((row) => row.user_id === user);
    const removed = await deleteAndNote(
      tx,
      own.map(({ id }) => id),
    );
    await unname(tx, tenant, user);
    await removeMemories(tx, { tenant, user });
    await deleteRequestsOfUser(tx, { tenant, user });
    return removed;
  });
}

/** Selects the tenant's sessions that belong to the user or contain the user's id. */
function withTraceOf(tx: Db, tenant: string, user: string) {
  return tx
    .selectFrom("sessions")
    .where("tenant_id", "=", tenant)
    .where("id", "in", (eb) =>
      eb
        .selectFrom("sessions as own")
        .select("own.id")
        .where("own.tenant_id", "=", tenant)
        .where("own.user_id", "=", user)
        .unionAll(eb.selectFrom("interaction_changes").select("session_id as id").where("by_user", "=", user))
        .unionAll(eb.selectFrom("payment_changes").select("session_id as id").where("by_user", "=", user))
        .unionAll(eb.selectFrom("allowances").select("session_id as id").where("by_user", "=", user))
        .unionAll(eb.selectFrom("uploads").select("session_id as id").where("by_user", "=", user))
        .unionAll(eb.selectFrom("waiting_messages").select("session_id as id").where("by_user", "=", user))
        .unionAll(eb.selectFrom("running_turns").select("session_id as id").where("message_by", "=", user))
        .unionAll(eb.selectFrom("running_turns").select("session_id as id").where("stop_by", "=", user)),
    );
}

async function unname(tx: Db, tenant: string, user: string): Promise<void> {
  await tx
    .updateTable("interaction_changes as c")
    .from("interactions as i")
    .set({ by_user: null })
    .whereRef("i.session_id", "=", "c.session_id")
    .whereRef("i.id", "=", "c.interaction_id")
    .where("i.tenant_id", "=", tenant)
    .where("c.by_user", "=", user)
    .execute();
  await tx
    .updateTable("payment_changes as c")
    .from("sessions as s")
    .set({ by_user: null })
    .whereRef("s.id", "=", "c.session_id")
    .where("s.tenant_id", "=", tenant)
    .where("c.by_user", "=", user)
    .execute();
  await tx
    .updateTable("allowances")
    .set({ by_user: null })
    .where("tenant_id", "=", tenant)
    .where("by_user", "=", user)
    .execute();
  await tx
    .updateTable("waiting_messages as w")
    .from("sessions as s")
    .set({ by_user: null })
    .whereRef("s.id", "=", "w.session_id")
    .where("s.tenant_id", "=", tenant)
    .where("w.by_user", "=", user)
    .execute();
  await tx
    .updateTable("uploads as u")
    .from("sessions as s")
    .set({ by_user: null })
    .whereRef("s.id", "=", "u.session_id")
    .where("s.tenant_id", "=", tenant)
    .where("u.by_user", "=", user)
    .execute();
  for (const column of ["message_by", "stop_by"] as const)
    await tx
      .updateTable("running_turns as r")
      .from("sessions as s")
      .set({ [column]: null })
      .whereRef("s.id", "=", "r.session_id")
      .where("s.tenant_id", "=", tenant)
      .where(`r.${column}`, "=", user)
      .execute();
}

export async function eraseExpired(
  db: Db,
  query: { readonly olderThanMs: number; readonly limit: number },
): Promise<string[]> {
  const olderThanMs = checkDuration(query.olderThanMs, "olderThanMs");
  const limit = checkLimit(query.limit, MAX_BATCH);
  return inTransaction(db, async (tx) => {
    const rows = await tx
      .selectFrom("sessions")
      .select("id")
      .where("updated_at", "<", ago(olderThanMs))
      .orderBy("updated_at")
      .orderBy(bytewiseOrder("id"))
      .limit(limit)
      .forUpdate()
      // A locked session is in use, so skip it. A session that was updated meanwhile is compared with its new time.
      .skipLocked()
      .execute();
    return deleteAndNote(
      tx,
      rows.map(({ id }) => id),
    );
  });
}

/** Deletes the sessions and records their erasure. The caller must have locked them. */
async function deleteAndNote(tx: Db, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  // Deleting a long history takes long. With a timeout, each attempt would be cut off and the erasure would never
  // finish.
  await sql`select set_config('statement_timeout', '0', true)`.execute(tx);
  const rows = await tx
    .with("gone", (qb) =>
      qb
        .deleteFrom("sessions")
        .where("id", "=", sql<string>`any(${[...ids]}::text[])`)
        .returning("id"),
    )
    .insertInto("erasures")
    .columns(["session_id"])
    .expression((eb) => eb.selectFrom("gone").select("id"))
    .onConflict((oc) => oc.column("session_id").doUpdateSet({ requested_at: clock }))
    .returning("session_id")
    .execute();
  return rows.map((row) => row.session_id).toSorted();
}

export async function pendingErasures(db: Db, limit: number, after?: Erasure): Promise<Erasure[]> {
  let query = db
    .selectFrom("erasures")
    .selectAll()
    .orderBy("requested_at")
    .orderBy(bytewiseOrder("session_id"))
    .limit(checkLimit(limit, MAX_BATCH));
  if (after !== undefined) {
    const end = sql`(${new Date(checkTime(after.requestedAt, "requestedAt"))}::timestamptz, ${after.session})`;
    query = query.where(sql<boolean>`(requested_at, ${bytewiseOrder("session_id")}) > ${end}`);
  }
  const rows = await query.execute();
  return rows.map((row) => ({ session: row.session_id, requestedAt: row.requested_at }));
}
