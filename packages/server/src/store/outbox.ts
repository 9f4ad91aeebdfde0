/**
 * The sub-port of the outbox: events that were committed and have still to reach the log. A row is added in
 * the transaction that makes it true; its writer, or a relay if that died, brings it to the log afterwards.
 * Never appends anything itself.
 */
import type { Cursor, EventDraft } from "@turnstream/protocol";
import type { Ref } from "./refs.ts";

export interface NewOutboxRow {
  /** Unique in the session; the append to the log carries it, so that a repeat is noticed. */
  readonly key: string;
  readonly draft: EventDraft;
  /** Where the log stood before: whoever looks for a repeat needs to look no further back. */
  readonly since?: Cursor;
}

export interface OutboxRow extends Ref {
  readonly id: number;
  readonly key: string;
  readonly draft: EventDraft;
  readonly since: Cursor | null;
  /** How often delivering it has failed. */
  readonly attempts: number;
  readonly createdAt: number;
}

export interface DeliveryQuery {
  readonly limit: number;
  /** Leaves younger rows to their writers. */
  readonly olderThanMs: number;
}

export interface Delivered {
  readonly delivered: number;
  readonly failed: number;
}

export interface Outbox {
  /**
   * "already" when the session has a row with this key: nothing changes. Rows of a session are numbered in the
   * order in which their transactions commit. Throws NOT_FOUND without the session.
   */
  add(ref: Ref, row: NewOutboxRow): Promise<"added" | "already">;
  /** Undelivered rows in the order of their ids, for people who look. */
  pending(query: DeliveryQuery): Promise<OutboxRow[]>;
  /**
   * Hands undelivered rows to `append` and marks each with the cursor it returns. Rows of one session go one
   * after the other, also among several relays; each row is with one relay at a time. When `append` throws, the
   * row stays, waits longer each time, and holds back only what follows it in its session. A relay that dies
   * after its append leaves the row to another, so `append` must be idempotent by key.
   */
  deliver(query: DeliveryQuery, append: (row: OutboxRow) => Promise<Cursor>): Promise<Delivered>;
  /** Marks a row that its writer has brought to the log itself. False when it is marked or absent. */
  delivered(ref: Ref, key: string, cursor: Cursor): Promise<boolean>;
  /** Deletes rows delivered that long ago, at most `limit`; @returns how many. */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** How long a row waits after its n-th failure: doubling from 250 ms to a minute. */
export function backoffMs(attempts: number): number {
  return Math.min(60_000, 250 * 2 ** Math.min(attempts - 1, 20));
}
