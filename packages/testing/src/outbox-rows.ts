/**
 * `outboxOf`, `reopenRows` and `settleOutbox` read the outbox rows in memory and change their states.
 *
 * Invariant: an archived row is never reopened. A row that was delivered at or before the archived position but not
 * archived was lost, and is due again. Rows are in the order of their ids.
 */
import type { OutboxRow, SessionRef } from "@turnstream/server/internal";
import { comparePositions, type Cursor, parseCursor, type Position } from "@turnstream/protocol";
import { type Rows, sessionTable } from "./tables.ts";

export interface StoredOutboxRow extends Omit<OutboxRow, "draft"> {
  readonly draft: string;
  readonly nextAttemptAt: number;
  readonly deliveredAt: number | null;
  readonly cursor: Cursor | null;
  readonly archivedAt: number | null;
}

/** By key, within the session. */
export const OUTBOX = sessionTable<StoredOutboxRow>("outbox");

/** Returns a session's rows in order, or none if the session belongs to another tenant. */
export function outboxOf(rows: Rows, ref: SessionRef): StoredOutboxRow[] {
  return rows
    .of(OUTBOX, ref)
    .filter((row) => row.tenant === ref.tenant)
    .toSorted((a, b) => a.id - b.id);
}

export function changeOutboxRow(rows: Rows, row: StoredOutboxRow, change: Partial<StoredOutboxRow>): void {
  rows.put(OUTBOX, row, row.key, { ...row, ...change });
}

/** Makes rows due again that were delivered but not archived: all of them, or those at or before a position. */
export function reopenRows(rows: Rows, ref: SessionRef, now: number, upTo: Position | null): number {
  const isLost = ({ cursor }: StoredOutboxRow) =>
    upTo === null || comparePositions(parseCursor(cursor) ?? upTo, upTo) <= 0;
  const lost = outboxOf(rows, ref).filter(
    (row) => row.deliveredAt !== null && row.archivedAt === null && isLost(row),
  );
  for (const row of lost) changeOutboxRow(rows, row, { deliveredAt: null, cursor: null, nextAttemptAt: now });
  return lost.length;
}

/** Marks the rows whose entries are archived. Other rows delivered at or before `to` were lost and are due again. */
export function settleOutbox(
  rows: Rows,
  ref: SessionRef,
  keys: readonly string[],
  to: Position,
  now: number,
): void {
  for (const row of outboxOf(rows, ref)) {
    if (!keys.includes(row.key) || row.archivedAt !== null) continue;
    changeOutboxRow(rows, row, { archivedAt: now, deliveredAt: row.deliveredAt ?? now });
  }
  reopenRows(rows, ref, now, to);
}
