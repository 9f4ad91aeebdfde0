/**
 * Follows the log of a session for as long as somebody wants it: attaches at its end, and again where it ends now when the
 * log was lost, wiped or begun anew. Tells what comes and when it began anew; never looks into it.
 */
import { type Cursor, parseCursor, type Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { FollowEndReason } from "../../log/log.ts";
import type { Backend } from "../../session/backend.ts";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import { patiently } from "./retry-while-unavailable.ts";

export interface LogFollower {
  /** It stands here now. @param isAgain what came between may never be told */
  opened(at: Position, isAgain: boolean): void;
  entries(entries: readonly LogEntry[]): void;
  /** The log no longer goes on from where it stood. */
  onReset(): void;
}

type FollowParts = Backend & Pick<FeedContext, "pause">;

const MAX_PAUSE_MS = 1_000;

/** Throws what can't be helped. @returns why it is over; null when the signal said so */
export async function followLog(
  parts: FollowParts,
  ref: SessionRef,
  follower: LogFollower,
  signal: AbortSignal,
): Promise<"gone" | "unavailable" | null> {
  try {
    for (let pause = 0; !signal.aborted; pause = Math.min(MAX_PAUSE_MS, pause * 2 + 10)) {
      // At once the first time: who looks at it waits.
      if (pause > 10) await parts.pause(pause);
      const began = performance.now();
      const isAgain = pause > 0;
      const { after, floor } = await patiently(() => findEnd(parts, ref, isAgain), parts.pause, signal);
      follower.opened(parseCursor(after) ?? { epoch: 0, seq: 0 }, isAgain);
      const where = { after, signal, ...(floor === null ? {} : { floor }) };
      const end: { reason: FollowEndReason | null } = { reason: null };
      // Waited for right here: every frame in between would be held for every session that is followed.
      await parts.log.listen(ref.session, where, (delivery) => {
        if (delivery.type === "entries") follower.entries(delivery.entries);
        else end.reason = delivery.reason;
      });
      if (end.reason === "removed") return "gone";
      if (end.reason === "unavailable") return "unavailable";
      follower.onReset();
      if (performance.now() - began > MAX_PAUSE_MS) pause = 0;
    }
    return null;
  } catch (error) {
    if (isStoreError(error, "NOT_FOUND")) return "gone";
    throw error;
  }
}

/** Where the log ends; or what is archived, where there is no log or it ends before that. */
async function findEnd(
  { store, log }: Backend,
  ref: SessionRef,
  isAgain: boolean,
): Promise<{ readonly after: Cursor; readonly floor: Cursor | null }> {
  const head = await log.head(ref.session);
  // As a rule there is no need to ask the store.
  if (head !== null && !isAgain) return { after: head.last, floor: null };
  const { archived } = await store.archive.header(ref);
  const isWhole = head !== null && seqOf(head.last) >= seqOf(archived);
  return { after: isWhole ? head.last : archived, floor: archived };
}

function seqOf(cursor: Cursor): number {
  return parseCursor(cursor)?.seq ?? 0;
}
