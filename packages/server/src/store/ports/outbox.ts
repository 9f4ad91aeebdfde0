/**
 * The sub-port of the outbox: events that were committed and have still to reach the log. A row is added in
 * the transaction that makes it true; its writer, or a relay if that died, brings it to the log afterwards.
 * Never appends anything itself.
 *
 *   added ──▶ delivered ──▶ archived ──▶ pruned
 *     ▲           │  its entry was lost with the log
 *     └───────────┘
 *
 * Nobody holds a lock while appending, so two may bring the same row: appends under one key happen once. What
 * makes that exact over trimming: archiving marks the rows whose entries it has seen, in its own commit, and only
 * what is archived is trimmed.
 */
import type { Cursor, EventDraft } from "@turnstream/protocol";
import type { Ref } from "../refs.ts";

export interface NewOutboxRow {
  /** Unique in the session; the append to the log carries it, so that a repeat is noticed. */
  readonly key: string;
  readonly draft: EventDraft;
  /** Where the log stood before, if known: whoever looks for a repeat need not look further back. */
  readonly since?: Cursor;
}

export interface OutboxRow extends Ref {
  readonly id: number;
  readonly key: string;
  readonly draft: EventDraft;
  /** Its entry can only be after this: what was given, or what was archived when the row was added. */
  readonly since: Cursor;
  /** How often delivering it has failed. */
  readonly attempts: number;
  readonly createdAt: number;
}

export interface TakeQuery {
  /** How many sessions. */
  readonly limit: number;
  /** Leaves younger rows to their writers. */
  readonly olderThanMs: number;
  /** For how long other relays leave these sessions to the caller. */
  readonly leaseMs: number;
}

export interface Outbox {
  /**
   * "already" when the session has a row with this key: nothing changes. Rows of a session are numbered in the
   * order in which their transactions commit. Throws NOT_FOUND without the session, and INVALID or TOO_LARGE for
   * what no log would take.
   */
  add(ref: Ref, row: NewOutboxRow): Promise<"added" | "already">;
  /** The undelivered rows of a session, in order. Whoever brings them keeps to it. */
  undelivered(ref: Ref, limit: number): Promise<OutboxRow[]>;
  /** Whether a row has still to be delivered. False when it is delivered, archived or gone. */
  isUndelivered(ref: Ref, key: string): Promise<boolean>;
  /** Sessions with rows that are due, each for one relay at a time. */
  take(query: TakeQuery): Promise<Ref[]>;
  /** Its event is in the log. False when the row is marked or absent. */
  delivered(ref: Ref, key: string, cursor: Cursor): Promise<boolean>;
  /** The session's rows could not be delivered: they wait, longer each time. */
  postpone(ref: Ref): Promise<void>;
  /**
   * The log may have lost entries that are not archived: rows that were delivered, but not archived, have to be
   * looked at again. Always safe, for bringing them again changes nothing if they are there. @returns how many
   */
  reopen(ref: Ref): Promise<number>;
  /** Undelivered rows of all sessions in the order of their ids, for people who look. */
  pending(query: { readonly limit: number; readonly olderThanMs: number }): Promise<OutboxRow[]>;
  /** Deletes rows archived that long ago, at most `limit`; their keys count as new then. @returns how many */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** How long a row waits after its n-th failure: doubling from 250 ms to a minute. */
export function backoffMs(attempts: number): number {
  return Math.min(60_000, 250 * 2 ** Math.min(attempts - 1, 20));
}
