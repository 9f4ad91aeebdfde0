/**
 * `deriveConnection` derives the connection status that a UI shows from the states of the connection and subscription.
 * Pure.
 * Invariant: it returns the previous object if nothing changed. The phase is live only if the connection is up and the
 * subscription is live. An ended subscription is closed, whatever the connection does.
 */
import type { ClientError } from "../errors.ts";
import { type ConnectionState, isUp } from "./connection-state.ts";
import type { SubscriptionState } from "./subscription-machine.ts";

/**
 *   connecting ──▶ replaying ──▶ live      events arrive as they happen
 *       ▲              ▲          │ resync, or a gap was detected
 *       │              └── resyncing ◀┘    the shown state is being replaced
 *    waiting ◀── lost                      until `retryAt`, or until woken
 *    offline                               no network; continues automatically
 *    hidden                                closed, because the page is hidden; continues when it is shown
 *    closed                                closed, or rejected permanently (see `error`)
 */
export type ConnectionPhase =
  | "connecting"
  | "replaying"
  | "live"
  | "waiting"
  | "resyncing"
  | "offline"
  | "hidden"
  | "closed";

export interface ConnectionView {
  readonly phase: ConnectionPhase;
  /** The channel in use; null without a connection. */
  readonly channel: "websocket" | "sse" | null;
  /** Failed attempts since the connection was last live. */
  readonly failures: number;
  /** While waiting: the time of the next attempt, by this machine's clock. */
  readonly retryAt: number | null;
  /** Why the connection is not live, if known. */
  readonly error: ClientError | null;
  /**
   * While live: why the session doesn't progress. The worker of its turn was lost and another one will continue, or a
   * message waits and no worker is running. Null otherwise.
   */
  readonly stalled: "resuming" | "no_worker" | null;
}

export const INITIAL_CONNECTION: ConnectionView = {
  phase: "connecting",
  channel: null,
  failures: 0,
  retryAt: null,
  error: null,
  stalled: null,
};

/**
 * Derives the view of a session's connection.
 * @param before the last view, returned again if nothing changed
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
      phase === "live" || phase === "hidden"
        ? null
        : subscription.phase === "ended"
          ? subscription.error
          : (connection.error ?? subscription.error),
    stalled: phase === "live" ? subscription.stalled : null,
  };
  const isSame =
    view.phase === before.phase &&
    view.channel === before.channel &&
    view.failures === before.failures &&
    view.retryAt === before.retryAt &&
    view.error === before.error &&
    view.stalled === before.stalled;
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
    case "hidden":
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
