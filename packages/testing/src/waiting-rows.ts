/**
 * `WAITING` is the table of queued messages in memory. `waitingOf`, `settle` and `clearMessageAuthor` read and change its
 * rows.
 *
 * Invariant: a taken message keeps its row without a body, so that a repeat is not queued again.
 */
import type { QueuedMessageBody, SessionRef, StoredTurnCaller } from "@turnstream/server/internal";
import type { UserMessage } from "@turnstream/protocol";
import { sessionRow } from "./session-rows.ts";
import { type Rows, sessionTable } from "./tables.ts";

/** A queued message. Without a body it is no longer queued. */
interface WaitingRow extends StoredTurnCaller {
  readonly ref: SessionRef;
  readonly id: string;
  readonly n: number;
  readonly body: string | null;
  readonly by: string | null;
  readonly at: number;
  /** As JSON. */
  readonly options: string | null;
  readonly agent: string | null;
}

export const WAITING = sessionTable<WaitingRow>("waiting_messages");

/** Returns the queued messages of a session, the oldest first. */
export function waitingOf(rows: Rows, ref: SessionRef): (WaitingRow & { readonly message: UserMessage })[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows
    .of(WAITING, ref)
    .filter(({ body }) => body !== null)
    .toSorted((a, b) => a.n - b.n)
    .map((row) => ({ ...row, message: messageOf(row) }));
}

function messageOf({ id, body, by, at }: WaitingRow): UserMessage {
  return { id, ...(JSON.parse(body ?? "{}") as QueuedMessageBody), by, at };
}

/** Removes the sender's id. */
export function clearMessageAuthor(rows: Rows, ref: SessionRef, user: string): void {
  for (const row of rows.of(WAITING, ref))
    if (row.by === user) rows.put(WAITING, ref, row.id, { ...row, by: null });
}

/** Takes the message out of the queue. Returns false if it is not queued. */
export function settle(rows: Rows, ref: SessionRef, id: string): boolean {
  const row = rows.get(WAITING, ref, id);
  if (row === undefined || row.body === null) return false;
  rows.put(WAITING, ref, id, { ...row, body: null, by: null, options: null, usageLimits: null });
  return true;
}
