/**
 * `publishOutbox` and `publishCommitted` publish the outbox rows of a session to the log right after a commit;
 * `relayOutbox` publishes rows whose process died.
 *
 * Invariant: each event is in the log exactly once. Both publish a session's rows in order, append under the row's key,
 * and search the log for that key first. No append runs under a lock.
 */
import type { Cursor } from "@turnstream/protocol";
import { isLogError, LogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";
import type { OutboxRow, TakeQuery } from "../../store/outbox.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";
import { reopenIdleLog } from "../lifecycle/create.ts";

/** Marks appends that come from the outbox, so that archiving can mark their rows as delivered. */
const PREFIX = "o/";
const MAX_ROWS = 100;
const MAX_LOOKS = 5;

/** Returns the key of the outbox row that an append came from, or null. */
export function outboxKeyOf(appendKey: string): string | null {
  if (!appendKey.startsWith(PREFIX)) return null;
  return appendKey.slice(PREFIX.length, appendKey.lastIndexOf(":"));
}

export interface PublishResult {
  /** How many events are now in the log and were not marked as delivered before. */
  readonly delivered: number;
  /** Why the remaining rows are not published; null if none remain. */
  readonly failure: LogError | null;
}

/**
 * How long relays leave the message of a turn alone. Its turn archives its entry and marks the row with that, which
 * saves the database a commit per message.
 */
export const MESSAGE_RELAY_MS = 15_000;

export interface PublishOptions {
  /** Whether to also mark a message that is the last row. Its turn will do so. @default false */
  readonly marksLastMessage?: boolean;
}

/**
 * Publishes the undelivered rows of a session in order. It doesn't throw errors of the log, because the rows are
 * committed and a relay publishes them later.
 */
export async function publishCommitted(
  backend: Backend,
  ref: SessionRef,
  { marksLastMessage = false }: PublishOptions = {},
): Promise<PublishResult> {
  const { store } = backend;
  let delivered = 0;
  const rows = await store.outbox.undelivered(ref, MAX_ROWS);
  for (const row of rows) {
    try {
      const cursor = await bring(backend, row);
      if (row === rows.at(-1) && row.draft.type === "message.add" && !marksLastMessage) continue;
      if (cursor !== null && (await store.outbox.delivered(ref, row.key, cursor))) delivered++;
    } catch (error) {
      if (!isLogError(error)) throw error;
      return { delivered, failure: error };
    }
  }
  return { delivered, failure: null };
}

/**
 * Publishes the rows of a command, and reopens the log if no turn runs. It throws no error of the log or store, because
 * the rows are committed and a relay publishes them later.
 */
export async function publishOutbox(backend: Backend, ref: SessionRef): Promise<void> {
  try {
    const { failure } = await publishCommitted(backend, ref);
    if (failure === null) return;
    if (isLogError(failure, "UNCLAIMED")) {
      await reopenIdleLog(backend, ref);
      if ((await publishCommitted(backend, ref)).failure === null) return;
    }
    // A relay doesn't wait for the turn of a message that is not in the log.
    await backend.store.outbox.postpone(ref);
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
  }
}

export interface RelayOptions extends Partial<TakeQuery> {
  /**
   * Called for a log that rejects appends because it has no writer. It may claim the log; the rows follow in a later
   * round.
   */
  readonly claim?: (ref: SessionRef) => Promise<unknown>;
}

export interface RelayResult {
  readonly delivered: number;
  /** How many sessions must wait for a later round. */
  readonly postponed: number;
}

/** Runs one round: publishes rows that other processes left behind. */
export async function relayOutbox(backend: Backend, options: RelayOptions = {}): Promise<RelayResult> {
  const { limit = 100, olderThanMs = 1_000, leaseMs = 10_000, claim } = options;
  let [delivered, postponed] = [0, 0];
  for (const ref of await backend.store.outbox.take({ limit, olderThanMs, leaseMs })) {
    const result = await publishCommitted(backend, ref, { marksLastMessage: true });
    delivered += result.delivered;
    if (result.failure === null) continue;
    postponed++;
    await backend.store.outbox.postpone(ref);
    if (claim !== undefined && isLogError(result.failure, "UNCLAIMED")) await claimQuietly(claim, ref);
  }
  return { delivered, postponed };
}

/** Ignores failed claims: another process was faster or the session was erased, and the next round finds out. */
async function claimQuietly(claim: (ref: SessionRef) => Promise<unknown>, ref: SessionRef): Promise<void> {
  try {
    await claim(ref);
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
  }
}

/**
 * Appends the event of a row unless the log has it.
 * If the log was trimmed, the search may not reach back far enough. The row then decides: archiving marks rows before a
 * trim. An unmarked row can only be in the remaining log.
 * @returns the event's position, or null if it was archived in the meantime
 */
async function bring({ store, log }: Backend, row: OutboxRow): Promise<Cursor | null> {
  const { key, draft } = row;
  let { since } = row;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    try {
      const batch = { writer: `${PREFIX}${key}`, counter: 0, events: [draft], isRetry: true, since };
      const { epoch, last } = await log.append(row, batch);
      return `${epoch}-${last}`;
    } catch (error) {
      if (!isLogError(error, "UNSURE")) throw error;
      // Read the start of the log before the row. In the other order, archiving and trimming in between would go
      // unnoticed.
      const head = await log.head(row);
      if (!(await store.outbox.isUndelivered(row, key))) return null;
      since = head?.base ?? since;
    }
  }
  throw new LogError("UNSURE", { detail: "The log was trimmed during every search" });
}
