/**
 * `forkLog` builds the log of a fork: the shared history, renumbered for the new session. Pure.
 *
 * Invariant: it contains no senders and no form values. Requests and turns that can't be answered or continued in the
 * fork are closed, and queued messages are removed.
 */
import { type SessionEvent, foldAll, formatCursor, parseCursor } from "@turnstream/protocol";
import { redactForShare } from "@turnstream/protocol/writer";
import { closeSession } from "./close-session.ts";

export interface ForkOptions {
  readonly session: string;
  readonly number: number;
  /** The epochs of the source are renumbered in order, starting with this one. */
  readonly firstEpoch: number;
  /** The time of `session.start` if the source has no events. */
  readonly at: number;
}

/** @param source a valid log from its first event on, coalesced or not */
export function forkLog(source: readonly SessionEvent[], options: ForkOptions): SessionEvent[] {
  const copied = rename(source, options);
  const { session, number, firstEpoch, at } = options;
  const { events } = closeSession(foldAll(copied), {
    at: copied.at(-1)?.at ?? at,
    start: { type: "session.start", session, number },
    firstEpoch,
  });
  return [...copied, ...events];
}

function rename(
  source: readonly SessionEvent[],
  { session, number, firstEpoch }: ForkOptions,
): SessionEvent[] {
  let epoch = firstEpoch - 1;
  let was = -1;
  return source.map((event) => {
    const position = parseCursor(event.id);
    if (position === null) return event;
    if (position.epoch !== was) epoch += 1;
    was = position.epoch;
    const id = formatCursor({ epoch, seq: position.seq });
    if (event.type === "session.start") return { ...event, id, session, number };
    // Remove user ids: erasing a user would not find them in the fork.
    return { ...redactForShare(event), id };
  });
}
