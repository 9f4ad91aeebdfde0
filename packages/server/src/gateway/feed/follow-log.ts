/**
 * `followLog` follows the log of a session until it is aborted. It attaches at the end of the log, and attaches again
 * at the new end if the log was lost, wiped or restarted. Does not interpret the entries.
 * Invariant: between `onOpen` and `onReset` the follower gets all entries after the opened position, once and in
 * order. `onReset` comes before every reopening; `onOpen` then reports that entries may have been missed. A reopening
 * never attaches before the archived position. Following ends when the session is deleted.
 */
import { type Cursor, parseCursor, type Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { FollowEndReason, AttachOptions } from "../../log/log.ts";
import type { Backend } from "../../session/backend.ts";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";

export interface LogFollower {
  /**
   * Called when following starts at a position.
   * @param isReopened true if entries may have been missed
   */
  onOpen(position: Position, isReopened: boolean): void;
  onEntries(entries: readonly LogEntry[]): void;
  /** The log no longer continues from the last position. */
  onReset(): void;
}

type FollowContext = Backend & Pick<FeedContext, "sleep">;

const MAX_DELAY_MS = 1_000;

/**
 * @returns why following ended, or null if the signal was aborted
 * @throws any error other than a deleted session
 */
export async function followLog(
  context: FollowContext,
  ref: SessionRef,
  follower: LogFollower,
  signal: AbortSignal,
): Promise<"gone" | "unavailable" | null> {
  try {
    for (let delayMs = 0; !signal.aborted; delayMs = Math.min(MAX_DELAY_MS, delayMs * 2 + 10)) {
      // The first attempt starts immediately, because subscribers are waiting.
      if (delayMs > 10) await context.sleep(delayMs);
      const startedAt = performance.now();
      const isReopened = delayMs > 0;
      const persist = <T>(work: () => Promise<T>) => retryWhileUnavailable(work, context.sleep, signal);
      const after = await persist(() => findEnd(context, ref, isReopened));
      follower.onOpen(parseCursor(after) ?? { epoch: 0, seq: 0 }, isReopened);
      // The log of an idle session expires. A follower at the archived position then waits for the next claim.
      const readFloor = () => persist(async () => (await context.store.archive.header(ref)).archived);
      const options: AttachOptions = { after, signal, readFloor };
      const end: { reason: FollowEndReason | null } = { reason: null };
      // Awaited directly: every stack frame in between would stay in memory for every followed session.
      await context.log.listen(ref, options, (delivery) => {
        if (delivery.type === "entries") follower.onEntries(delivery.entries);
        else end.reason = delivery.reason;
      });
      if (end.reason === "removed") return "gone";
      if (end.reason === "unavailable") return "unavailable";
      follower.onReset();
      if (performance.now() - startedAt > MAX_DELAY_MS) delayMs = 0;
    }
    return null;
  } catch (error) {
    if (isStoreError(error, "NOT_FOUND")) return "gone";
    throw error;
  }
}

/** Returns the end of the log. If the log is missing or ends before the archive, returns the archived position. */
async function findEnd({ store, log }: Backend, ref: SessionRef, isReopened: boolean): Promise<Cursor> {
  const head = await log.head(ref);
  // Usually no query to the store is needed.
  if (head !== null && !isReopened) return head.last;
  const { archived } = await store.archive.header(ref);
  const isComplete = head !== null && parseSeq(head.last) >= parseSeq(archived);
  return isComplete ? head.last : archived;
}

function parseSeq(cursor: Cursor): number {
  return parseCursor(cursor)?.seq ?? 0;
}
