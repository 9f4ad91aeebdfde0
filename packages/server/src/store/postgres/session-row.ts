/** What several sub-ports do with the row of a session: read it, require it, lock it. Never changes it. */
import { formatCursor } from "@turnstream/protocol";
import { type Selectable, sql } from "kysely";
import { isStoreError, StoreError } from "../errors.ts";
import type { Ref } from "../refs.ts";
import type { Session } from "../sessions.ts";
import type { CoreTables } from "./core-tables.ts";
import type { Db } from "./database.ts";
import { toStoreError } from "./guard.ts";

/** How often a transaction is tried in all when others get in its way. */
export const ATTEMPTS = 5;

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

type SessionRow = Omit<Selectable<CoreTables["sessions"]>, "header" | "v" | "turn_count">;

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

export function noSession(ref: Ref): StoreError {
  return new StoreError("NOT_FOUND", `session ${ref.session}`);
}

export async function requireSession(db: Db, ref: Ref): Promise<void> {
  const row = await db
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", ref.session)
    .where("tenant_id", "=", ref.tenant)
    .executeTakeFirst();
  if (row === undefined) throw noSession(ref);
}

/**
 * Whether the session is the tenant's, as a condition on rows of that session. Not a join: the planner would
 * look the session up again for every row.
 */
export function isTenants(ref: Ref) {
  return sql<boolean>`exists (select from sessions where id = ${ref.session} and tenant_id = ${ref.tenant})`;
}

/**
 * Holds the session's row until the transaction ends: changes in its order go one after the other.
 * Rows that only refer to it can still be added meanwhile.
 */
export async function lockSession(
  tx: Db,
  ref: Ref,
): Promise<{ epoch: number; archived_epoch: number; archived_seq: number }> {
  const row = await tx
    .selectFrom("sessions")
    .select(["epoch", "archived_epoch", "archived_seq"])
    .where("id", "=", ref.session)
    .where("tenant_id", "=", ref.tenant)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw noSession(ref);
  return row;
}

/**
 * Joins the transaction that runs, or makes one. One of its own is tried again after a deadlock, at once: the
 * database has let the other one through.
 */
export async function inTransaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  if (db.isTransaction) return work(db);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (attempt >= ATTEMPTS || !isStoreError(toStoreError(error, "transaction"), "BUSY")) throw error;
    }
  }
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
export function byBytes(column: string) {
  return sql<string>`${sql.ref(column)} collate "C"`;
}
