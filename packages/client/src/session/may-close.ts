/**
 * `mayClose` decides whether a hidden page may close its connection now. Pure.
 * Invariant: a page whose connection may close misses none of the changes that docs/client.md promises to hidden pages,
 * and has nothing to send. A session that has not caught up may have a running turn, so it keeps the connection.
 */
import type { SessionState } from "@turnstream/protocol";
import type { OutboxMessage } from "../outbox/message.ts";
import type { ConnectionPhase } from "../transport/status.ts";

/** What a session still does. */
export interface SessionActivity {
  readonly state: SessionState;
  readonly outbox: readonly OutboxMessage[];
  readonly phase: ConnectionPhase;
  /** Whether it had caught up when its connection was last open. */
  readonly hasCaughtUp: boolean;
  /** Whether it is connected while the page has a connection. */
  readonly isSubscribed: boolean;
}

export interface ClientActivity {
  readonly sessions: readonly SessionActivity[];
  /** Commands, uploads and drafts without an answer. */
  readonly pendingRequests: number;
}

/** @param followsTurns false if a running turn is no reason to keep the connection */
export function mayClose(
  { sessions, pendingRequests }: ClientActivity,
  { now, followsTurns }: { readonly now: number; readonly followsTurns: boolean },
): boolean {
  const isBusy = ({ state, outbox, phase, hasCaughtUp, isSubscribed }: SessionActivity): boolean => {
    // Its messages can't be sent either.
    if (phase === "closed") return false;
    if (outbox.some((message) => isUnsent(message, now))) return true;
    if (!isSubscribed) return false;
    if (!hasCaughtUp) return true;
    return followsTurns && (state.waiting.length > 0 || state.turns.last()?.status === "running");
  };
  return pendingRequests === 0 && !sessions.some(isBusy);
}

/**
 * Returns true if this tab has to send the message, or waits for it to appear in the log. The tab that wrote a message
 * sends it, so a message of another tab counts only from the time when this one may send it.
 */
function isUnsent({ status, isOwn, ackedAt, notBefore }: OutboxMessage, now: number): boolean {
  if (status === "failed") return false;
  return isOwn || (ackedAt === null && (status === "sending" || notBefore <= now));
}
