/**
 * `useChatSession` returns the session to show: the one with the current id, or a new one that is created with its first
 * message or file.
 * Invariant: a new session keeps its id when it is created, so the composer keeps its text and the focus. If the user
 * has opened another session meanwhile, the created one is only listed.
 */
import type { Client, Session } from "@turnstream/client";
import { useEffect, useMemo, useRef, useState } from "react";
import { createLazySession } from "./lazy-session.ts";
import type { SessionListCommands } from "./session-list-store.ts";

/** Stores the draft of the session that doesn't exist yet, whose own id is another one after a reload. */
const NEW_SESSION = "new";

export interface ChatSessionOptions {
  readonly client: Pick<Client, "session">;
  /** The session that is open; null for a new one. */
  readonly current: string | null;
  /** Creates the session, such as `create` of `useSessions`. */
  readonly create: SessionListCommands["create"];
  /** Called with the id of a new session once it is created, while it is shown. */
  readonly onCreated: (sessionId: string) => void;
}

export function useChatSession({ client, current, create, onCreated }: ChatSessionOptions): Session {
  const latest = useRef({ current, onCreated });
  useEffect(() => {
    latest.current = { current, onCreated };
  }, [current, onCreated]);
  const [createdCount, setCreatedCount] = useState(0);
  const lazy = useMemo(
    () =>
      createLazySession({
        id: createSessionId(),
        drafts: client.session(NEW_SESSION),
        async create(id) {
          await create({ id });
          return client.session(id);
        },
        onCreated(id) {
          // The next new session is another one.
          setCreatedCount((n) => n + 1);
          if (latest.current.current === null) latest.current.onCreated(id);
        },
      }),
    [client, create, createdCount],
  );
  return current === null ? lazy : client.session(current);
}

/** `randomUUID` is missing on pages that were not loaded over TLS. */
function createSessionId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return `s-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("")}`;
}
