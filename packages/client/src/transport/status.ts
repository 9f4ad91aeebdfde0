/** What a UI shows of the connection of a session, and how it follows from the machines. Pure. */
import type { ClientError } from "../errors.ts";
import { type ConnectionState, isUp } from "./connection-state.ts";
import type { SubscriptionState } from "./subscription-machine.ts";

/**
 *   connecting ──▶ replaying ──▶ live      events come as they happen
 *       ▲              ▲          │ resync, or a gap was seen
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
  readonly channel: "websocket" | "sse" | null;
  /** How many attempts have failed since it was last live. */
  readonly failures: number;
  /** While waiting: when it tries again, by this machine's clock. */
  readonly retryAt: number | null;
  /** Why it isn't live, where that is known. */
  readonly error: ClientError | null;
}

export const INITIAL_CONNECTION: ConnectionView = {
  phase: "connecting",
  channel: null,
  failures: 0,
  retryAt: null,
  error: null,
};

/**
 * What a UI shows of a session's connection, from the states of the connection and of the subscription on it.
 * @param before the last view: returned again when nothing has changed
 */
export function deriveConnection(
  connection: ConnectionState,
  subscription: SubscriptionState,
  before: ConnectionView,
): ConnectionView {
  const isWaiting = connection.phase === "waiting" || (isUp(connection) && subscription.phase === "waiting");
  const phase = derivePhase(connection, subscription);
  const view: ConnectionView = {
    phase,
    channel: isUp(connection) ? connection.channel : null,
    failures: connection.failures,
    retryAt: isWaiting ? (isUp(connection) ? subscription.retryAt : connection.timerAt) : null,
    error:
      phase === "live"
        ? null
        : subscription.phase === "ended"
          ? subscription.error
          : (connection.error ?? subscription.error),
  };
  const isSame =
    view.phase === before.phase &&
    view.channel === before.channel &&
    view.failures === before.failures &&
    view.retryAt === before.retryAt &&
    view.error === before.error;
  return isSame ? before : view;
}

function derivePhase(connection: ConnectionState, subscription: SubscriptionState): ConnectionPhase {
  if (subscription.phase === "ended") return "closed";
  switch (connection.phase) {
    case "idle":
    case "authorizing":
    case "opening":
      return "connecting";
    case "waiting":
    case "offline":
    case "closed":
      return connection.phase;
    case "open":
    case "probing":
      break;
  }
  switch (subscription.phase) {
    case "live":
    case "waiting":
      return subscription.phase;
    case "off":
    case "requested":
      return subscription.isResync ? "resyncing" : "connecting";
    case "replaying":
      return subscription.isResync ? "resyncing" : "replaying";
  }
}
