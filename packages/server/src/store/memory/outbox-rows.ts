/** The table of the outbox in memory, and marking its rows. */
import type { Cursor } from "@turnstream/protocol";
import type { OutboxRow } from "../outbox.ts";
import type { Ref } from "../refs.ts";
import { type Rows, table } from "./tables.ts";

export interface StoredOutboxRow extends Omit<OutboxRow, "draft"> {
  readonly draft: string;
  readonly nextAttemptAt: number;
  readonly deliveredAt: number | null;
  readonly cursor: Cursor | null;
}

/** By key, within the session. */
export const OUTBOX = table<StoredOutboxRow>("outbox", "session");

export function markDelivered(
  rows: Rows,
  ref: Ref,
  key: string,
  cursor: Cursor | null,
  now: number,
): boolean {
  const row = rows.get(OUTBOX, ref.session, key);
  if (row === undefined || row.tenant !== ref.tenant || row.deliveredAt !== null) return false;
  rows.put(OUTBOX, ref.session, key, { ...row, deliveredAt: now, cursor });
  return true;
}
