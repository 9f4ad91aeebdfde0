/**
 * `sessionRow`, `requireSession`, `changeSession` and `eraseSession` access the rows of sessions in memory, for all
 * parts of the store.
 *
 * Invariant: a session of another tenant does not exist for its callers. `eraseSession` deletes everything that belongs
 * to the session and records the erasure in the same work. `compareText` sorts like PostgreSQL.
 */
import { sessionKey, type SessionRef, type SessionWithEpoch, StoreError } from "@turnstream/server/internal";
import { deleteRequestsOfSession } from "./request-rows.ts";
import { type Rows, table } from "./tables.ts";

/**
 * JSON is stored as text, as in PostgreSQL. So a stored value can't be changed from outside, and undefined fields are
 * dropped.
 */
export interface SessionRow extends SessionWithEpoch {
  readonly header: string | null;
  readonly v: number | null;
  readonly checkpoint: string | null;
}

export const SESSIONS = table<SessionRow>("sessions");
/** By `sessionKey`. They outlive their tenant. */
interface ErasureRow extends SessionRef {
  readonly requestedAt: number;
  readonly claimedUntil: number;
  readonly isLogRemoved: boolean;
}
export const ERASURES = table<ErasureRow>("erasures");

export function sessionRow(rows: Rows, ref: SessionRef): SessionRow | undefined {
  return rows.get(SESSIONS, ref.tenant, ref.session);
}

export function requireSession(rows: Rows, ref: SessionRef): SessionRow {
  const row = sessionRow(rows, ref);
  if (row === undefined) throw new StoreError("NOT_FOUND", `session ${ref.session}`);
  return row;
}

export function changeSession(rows: Rows, row: SessionRow, change: Partial<SessionRow>): SessionRow {
  const changed = { ...row, ...change };
  rows.put(SESSIONS, row.tenant, row.id, changed);
  return changed;
}

export function eraseSession(rows: Rows, { tenant, session }: SessionRef, now: number): void {
  const ref = { tenant, session };
  rows.remove(SESSIONS, tenant, session);
  rows.removeOwned(ref);
  deleteRequestsOfSession(rows, ref);
  rows.put(ERASURES, "", sessionKey(ref), {
    ...ref,
    requestedAt: now,
    claimedUntil: 0,
    isLogRemoved: false,
  });
}

export function refOf({ tenant, id }: Pick<SessionWithEpoch, "tenant" | "id">): SessionRef {
  return { tenant, session: id };
}

/** Compares texts by their bytes in UTF-8, like the collation "C". */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
