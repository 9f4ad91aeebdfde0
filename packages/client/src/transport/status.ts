/** What people may be told of the connection of a session. Types only. */
import type { ClientError } from "../errors.ts";
import { type ConnectionState, isUp } from "./connection-machine.ts";
import type { SubscriptionState } from "./subscription-machine.ts";

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

/** What people are told of a session's connection: from the state of the wire and of the session on it. Pure. */
/** @param before what was told last: the same again when nothing has changed */
export function connectionOf(
  wire: ConnectionState,
  session: SubscriptionState,
  before: ConnectionView,
): ConnectionView {
  const isWaiting = wire.phase === "waiting" || (isUp(wire) && session.phase === "waiting");
  const phase = phaseOf(wire, session);
  const view: ConnectionView = {
    phase,
    wire: isUp(wire) ? wire.wire : null,
    failures: wire.failures,
    retryAt: isWaiting ? (isUp(wire) ? session.retryAt : wire.timerAt) : null,
    error: phase === "live" ? null : session.phase === "over" ? session.error : (wire.error ?? session.error),
  };
  const isSame =
    view.phase === before.phase &&
    view.wire === before.wire &&
    view.failures === before.failures &&
    view.retryAt === before.retryAt &&
    view.error === before.error;
  return isSame ? before : view;
}

function phaseOf(wire: ConnectionState, session: SubscriptionState): ConnectionPhase {
  if (session.phase === "over") return "closed";
  switch (wire.phase) {
    case "idle":
    case "asking":
    case "opening":
      return "connecting";
    case "waiting":
    case "offline":
    case "closed":
      return wire.phase;
    case "open":
    case "probing":
      break;
  }
  switch (session.phase) {
    case "live":
    case "waiting":
      return session.phase;
    case "off":
    case "asked":
      return session.isAnew ? "resyncing" : "connecting";
    case "replaying":
      return session.isAnew ? "resyncing" : "replaying";
  }
}
