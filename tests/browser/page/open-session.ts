/**
 * `openSession` opens the session of a test page: `?url=` is the gateway, `?session=` the session, `?agent=` the agent
 * that answers, and `?mode=` the display mode. The test provides the token.
 */
import { type Client, createClient, type Session } from "@turnstream/client";
import type { Turn } from "@turnstream/protocol";
import { exposeSession } from "./expose-session.ts";

interface OpenedSession {
  readonly client: Client;
  readonly session: Session;
  readonly composer: { readonly agentId?: string; readonly mode?: Turn["mode"] };
}

export function openSession(): OpenedSession {
  const query = new URLSearchParams(location.search);
  const client = createClient({
    url: query.get("url") ?? location.origin,
    auth: () => ({ token: window.turnstreamToken ?? "" }),
  });
  const session = client.session(query.get("session") ?? "");
  const agent = query.get("agent");
  const mode = query.get("mode");
  exposeSession(session);
  return {
    client,
    session,
    composer: {
      ...(agent !== null && { agentId: agent }),
      ...((mode === "agent" || mode === "chat") && { mode }),
    },
  };
}
