/**
 * `sessionRow`, `requireSession`, `changeSession` and `eraseSession` access the rows of sessions in memory, for all
 * sub-ports.
 *
 * Invariant: a session of another tenant does not exist for its callers. `eraseSession` deletes everything that belongs
 * to the session and records the erasure in the same work. `compareText` sorts like PostgreSQL.
 */
import { StoreError } from "../errors.ts";
import type { SessionRef } from "../refs.ts";
import type { EpochRecord, Session } from "../ports/sessions.ts";
import { deleteRequestsOfSession } from "./request-rows.ts";
import { type Rows, table } from "./tables.ts";

/**
 * JSON is stored as text, as in PostgreSQL. So a stored value can't be changed from outside, and undefined fields are
 * dropped.
 */
export interface SessionRow extends Session {
  readonly header: string | null;
  readonly v: number | null;
  readonly checkpoint: string | null;
}

export const SESSIONS = table<SessionRow>("sessions", "none");
export const EPOCHS = table<EpochRecord>("session_epochs", "session");
export const ERASURES = table<{ session: string; requestedAt: number }>("erasures", "none");

export function sessionRow(rows: Rows, ref: SessionRef): SessionRow | undefined {
  const row = rows.get(SESSIONS, "", ref.session);
  return row?.tenant === ref.tenant ? row : undefined;
}

export function requireSession(rows: Rows, ref: SessionRef): SessionRow {
  const row = sessionRow(rows, ref);
  if (row === undefined) throw new StoreError("NOT_FOUND", `session ${ref.session}`);
  return row;
}

export function changeSession(rows: Rows, row: SessionRow, change: Partial<SessionRow>): SessionRow {
  const changed = { ...row, ...change };
  rows.put(SESSIONS, "", row.id, changed);
  return changed;
}

export function eraseSession(rows: Rows, id: string, now: number): void {
  rows.remove(SESSIONS, "", id);
  rows.removeOwned("session", id);
  deleteRequestsOfSession(rows, id);
  rows.put(ERASURES, "", id, { session: id, requestedAt: now });
}

/** Compares texts by their bytes in UTF-8, like the collation "C". */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
