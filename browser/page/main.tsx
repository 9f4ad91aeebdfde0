/**
 * The page of the browser tests: one live session, as in an app. `?url=` is the gateway, `?session=` the session, and
 * `?agent=` the agent that answers. The test provides the token.
 */
import { createClient, type Session } from "@turnstream/client";
import { formatCursor } from "@turnstream/protocol";
import { SessionProvider, Thread } from "@turnstream/react";
import { createRoot } from "react-dom/client";
import type { LiveView } from "./live.ts";
import "@turnstream/react/styles.css";

const query = new URLSearchParams(location.search);

function openSession(): Session {
  const client = createClient({
    url: query.get("url") ?? location.origin,
    auth: () => ({ token: window.turnstreamToken ?? "" }),
  });
  return client.session(query.get("session") ?? "");
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

const session = openSession();
const agent = query.get("agent");
window.turnstream = { session, view: () => viewOf(session) };
const place = document.getElementById("root");
if (place !== null)
  createRoot(place).render(
    <SessionProvider session={session}>
      <Thread composer={agent === null ? {} : { agentId: agent }} />
    </SessionProvider>,
  );
