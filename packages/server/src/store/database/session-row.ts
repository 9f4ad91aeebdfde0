/**
 * `lockSession`, `lockSessionRow` and `requireSession` lock and read a session's row for all parts of the store. None of them
 * changes it.
 *
 * Invariant: locks are taken in this order, so that transactions don't deadlock:
 * 1. the tenant, if it is erased, or gets a row that no foreign key checks (`tenant-row.ts`)
 * 2. the session's row; several in the order of their ids
 *    - `lockSessionRow` to change rows of the session
 *    - `lockSession` to change rows in the session's order
 *    - FOR UPDATE to erase the session
 * 3. its row of `turn_queue`, for whatever starts, parks, wakes or ends a turn, and before its messages change
 * 4. other rows of the session
 * 5. the head of the audit
 *
 * One transaction may first call `lockSessionRow` and later `lockSession`: only an erasure conflicts, and it waits for
 * both. Work on several sessions, and a tenant's erasure, can't follow the order. There the database detects the
 * deadlock, and `retryOnDeadlock` repeats the aborted work.
 */
import { sql } from "kysely";
import type { SessionRef } from "../../util/refs.ts";
import type { Db } from "./database.ts";
import { StoreError } from "../errors.ts";
import { parsePageToken } from "../rules/page-token.ts";

/**
 * Null if there is no such session. PostgreSQL reads it while it plans the statement, once for each place where it stands:
 * a statement with several names it in `from`.
 */
export function periodOf({ tenant, session }: SessionRef) {
  return sql<number>`session_period(${tenant}::text, ${session}::text)`;
}

export function sessionNotFound(ref: SessionRef): StoreError {
  return new StoreError("NOT_FOUND", `session ${ref.session}`);
}

export function sessionRow(db: Db, { tenant, session }: SessionRef) {
  return db
    .selectFrom("sessions")
    .where("sessions.tenant_id", "=", tenant)
    .where("sessions.id", "=", session);
}

async function requireRow(
  query: { executeTakeFirst: () => Promise<unknown> },
  ref: SessionRef,
): Promise<void> {
  if ((await query.executeTakeFirst()) === undefined) throw sessionNotFound(ref);
}

export function requireSession(db: Db, ref: SessionRef): Promise<void> {
  return requireRow(sessionRow(db, ref).select("id"), ref);
}

interface Narrowed<Self> {
  where(column: "tenant_id" | "session_id", op: "=", value: string): Self;
}

/** The columns that every row of a session has. */
export function rowOf({ tenant, session }: SessionRef) {
  return { tenant_id: tenant, session_id: session };
}

/** Restricts a query on one table to the rows of a session. */
export function ofSession<Query extends Narrowed<Query>>(
  query: Query,
  { tenant, session }: SessionRef,
): Query {
  return query.where("tenant_id", "=", tenant).where("session_id", "=", session);
}

/** The owner of the session, for rows that limits count. */
export function ownerOf({ tenant, session }: SessionRef) {
  return sql<string>`(select user_id from sessions where tenant_id = ${tenant} and id = ${session})`;
}

/** Prevents that the session is erased until the transaction ends. Blocks nothing else. */
export function lockSessionRow(tx: Db, ref: SessionRef): Promise<void> {
  return requireRow(sessionRow(tx, ref).select("id").forKeyShare(), ref);
}

/**
 * Locks the session's row until the transaction ends, so that changes in the session's order run one after the other.
 * Rows that only reference the session can still be added.
 */
export function lockSession(tx: Db, ref: SessionRef): Promise<void> {
  return requireRow(sessionRow(tx, ref).select("id").forNoKeyUpdate(), ref);
}

/** Joins the running transaction or starts one. After a deadlock the whole call is retried; see `store.ts`. */
export async function inTransaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}

/** The database's clock, read now and not at the start of the transaction. */
export const clock = sql<Date>`clock_timestamp()`;

/** A time in the past to compare with. A subquery, so that the clock is read once and an index can be used. */
export function ago(ms: number) {
  return sql<number>`(select ${clockPlus(-ms)})`;
}

/** The database's clock plus `ms` milliseconds. Negative for the past. */
export function clockPlus(ms: number) {
  return sql<Date>`clock_timestamp() + ${ms}::double precision * interval '1 millisecond'`;
}

/** An id in the order of pages: by its bytes, whatever the database's collation is. */
export function bytewiseOrder(column: string) {
  return sql<string>`${sql.ref(column)} collate "C"`;
}

/** True for the rows of the next page of a list that descends by a time and then by id. */
export function isAfterPage(token: string, columns: { readonly time: string; readonly id: string }) {
  const { time, id } = parsePageToken(token);
  return sql<boolean>`(${sql.ref(columns.time)}, ${bytewiseOrder(columns.id)}) < (${new Date(time)}::timestamptz, ${id})`;
}
