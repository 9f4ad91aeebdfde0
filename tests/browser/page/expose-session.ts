/** `exposeSession` exposes the session of a page to its tests, as `window.turnstream`. */
import type { Session } from "@turnstream/client";
import { formatCursor } from "@turnstream/protocol";
import type { LiveView } from "./live.ts";

export function exposeSession(session: Session): void {
  window.turnstream = { session, view: () => viewOf(session) };
}

function viewOf(session: Session): LiveView {
  const { state, connection, outbox } = session.getSnapshot();
  const { phase, channel, failures, error } = connection;
  return {
    cursor: formatCursor(state),
    phase,
    wire: channel,
    failures,
    outbox: outbox.map(({ id, text, status }) => ({ id, text, status })),
    turns: state.turns.toArray().map(({ status }) => status),
    error: error === null ? null : `${error.code} ${error.message}`,
  };
}
