/** What people are told of a session's connection: from the state of the wire and of the session on it. Pure. */
import type { ConnectionPhase, ConnectionView } from "../transport/status.ts";
import { type ConnectionState, isUp } from "../transport/connection-machine.ts";
import type { SubscriptionState } from "../transport/subscription-machine.ts";

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
