/**
 * What several sub-ports do with the row of a session: read it, require it, lock it. Never changes it.
 *
 * Locks are taken in this order, so that nobody waits for each other:
 * 1. the tenant's row, where the tenant is erased
 * 2. the number of an order (an advisory lock, payments.ts)
 * 3. the session's row, several by their ids: `holdSession` to change what hangs on it, `lockSession` to change it in
 *    the order of the session, FOR UPDATE to erase it
 * 4. what hangs on the session
 * 5. the head of the audit
 * In one transaction a session may be held first and locked later: only erasing minds, and it waits for both.
 * Where the order can't be kept (work on several sessions; a tenant's erasure against the rest), the database finds
 * the deadlock, and whoever has to give way is tried again; see retry.ts.
 */
import { formatCursor } from "@turnstream/protocol";
import { type Selectable, sql } from "kysely";
import { StoreError } from "../errors.ts";
import type { SessionRef } from "../refs.ts";
import type { Session } from "../ports/sessions.ts";
import type { CoreTables } from "./schema.ts";
import type { Db } from "./database.ts";

export const SESSION_COLUMNS = [
  "sessions.id",
  "sessions.tenant_id",
  "sessions.user_id",
  "sessions.number",
  "sessions.title",
  "sessions.epoch",
  "sessions.archived_epoch",
  "sessions.archived_seq",
  "sessions.forked_from_share",
  "sessions.created_at",
  "sessions.updated_at",
] as const;

type SessionRow = Omit<Selectable<CoreTables["sessions"]>, "header" | "v" | "checkpoint" | "turn_count">;

export function sessionOf(row: SessionRow): Session {
  return {
    id: row.id,
    tenant: row.tenant_id,
    user: row.user_id,
    number: row.number,
    title: row.title,
    epoch: row.epoch,
    archived: formatCursor({ epoch: row.archived_epoch, seq: row.archived_seq }),
    forkedFromShare: row.forked_from_share,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function sessionNotFound(ref: SessionRef): StoreError {
  return new StoreError("NOT_FOUND", `session ${ref.session}`);
}

export async function requireSession(db: Db, ref: SessionRef): Promise<void> {
  const row = await db
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", ref.session)
    .where("tenant_id", "=", ref.tenant)
    .executeTakeFirst();
  if (row === undefined) throw sessionNotFound(ref);
}

/**
 * Whether the session is the tenant's, as a condition on rows of that session. Not a join: the planner would
 * look the session up again for every row.
 */
export function belongsToTenant(ref: SessionRef) {
  return sql<boolean>`exists (select from sessions where id = ${ref.session} and tenant_id = ${ref.tenant})`;
}

/** Keeps the session from being erased until the transaction ends; nothing else has to wait for that. */
export async function lockSessionRow(tx: Db, ref: SessionRef): Promise<void> {
  const row = await tx
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", ref.session)
    .where("tenant_id", "=", ref.tenant)
    .forKeyShare()
    .executeTakeFirst();
  if (row === undefined) throw sessionNotFound(ref);
}

/**
 * The same as `holdSession` within the statement that follows, which joins `held`: whoever erases the session waits
 * for it here, and not for a row that hangs on it.
 */
export function withSessionLock(db: Db, ref: SessionRef) {
  return db.with(
    (cte) => cte("held").materialized(),
    (qb) =>
      qb
        .selectFrom("sessions")
        .select(["id", "tenant_id", "user_id"])
        .where("id", "=", ref.session)
        .where("tenant_id", "=", ref.tenant)
        .forKeyShare(),
  );
}

/**
 * Holds the session's row until the transaction ends: changes in its order go one after the other.
 * Rows that only refer to it can still be added meanwhile.
 */
export async function lockSession(
  tx: Db,
  ref: SessionRef,
): Promise<{ epoch: number; archived_epoch: number; archived_seq: number }> {
  const row = await tx
    .selectFrom("sessions")
    .select(["epoch", "archived_epoch", "archived_seq"])
    .where("id", "=", ref.session)
    .where("tenant_id", "=", ref.tenant)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw sessionNotFound(ref);
  return row;
}

/** Joins the transaction that runs, or makes one. After a collision the whole call is tried again; see store.ts. */
export async function inTransaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}

/** The database's clock, read now and not at the start of the transaction. */
export const clock = sql<Date>`clock_timestamp()`;

/** The same in the past, to compare with: a subquery, so that it is read once and an index can be used. */
export function ago(ms: number) {
  return sql<number>`(select ${clockPlus(-ms)})`;
}

/** The database's clock that many milliseconds from now; negative for the past. */
export function clockPlus(ms: number) {
  return sql<Date>`clock_timestamp() + ${ms}::double precision * interval '1 millisecond'`;
}

/** An id as pages order it: by its bytes, whatever the database's collation is. */
export function bytewiseOrder(column: string) {
  return sql<string>`${sql.ref(column)} collate "C"`;
}
