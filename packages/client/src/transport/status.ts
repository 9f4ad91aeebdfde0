/** What people may be told of the connection of a session. Types only. */
import type { ClientError } from "../errors.ts";

/**
 *   connecting ──▶ replaying ──▶ live      events come as they happen
 *       ▲              ▲          │ told to, or a gap was seen
 *       │              └── resyncing ◀┘    what is shown is being replaced by what is there now
 *    waiting ◀── lost                      for `retryAt`, or until woken
 *    offline                               the machine has no network; goes on by itself
 *    closed                                left, or refused for good (`error` says why)
 */
export type ConnectionPhase =
  | "connecting"
  | "replaying"
  | "live"
  | "waiting"
  | "resyncing"
  | "offline"
  | "closed";

export interface ConnectionView {
  readonly phase: ConnectionPhase;
  /** Over what it comes; null while there is no connection. */
  readonly wire: "socket" | "stream" | null;
  /** How many attempts have failed since it was last live. */
  readonly failures: number;
  /** While waiting: when it tries again, by this machine's clock. */
  readonly retryAt: number | null;
  /** Why it isn't live, where that is known. */
  readonly error: ClientError | null;
}

export const NOT_CONNECTED: ConnectionView = {
  phase: "connecting",
  wire: null,
  failures: 0,
  retryAt: null,
  error: null,
};
