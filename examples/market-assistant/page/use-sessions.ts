/**
 * `useSessions` loads the list of the user's sessions. Tabs notify each other of changes, and a tab reloads the list
 * when it becomes visible again.
 */
import type { SessionInfo } from "@turnstream/client";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { client } from "./client.ts";

export interface SessionList {
  readonly sessions: readonly SessionInfo[];
  /** Whether the list has been loaded. */
  readonly isKnown: boolean;
  readonly refresh: () => Promise<readonly SessionInfo[]>;
  /** Returns the id of an empty session: an existing one, or a new one. */
  readonly fresh: () => Promise<string>;
  rename(id: string, title: string): Promise<void>;
  erase(id: string): Promise<void>;
}

const CHANNEL = "market-assistant/sessions";
const LIMIT = 50;

export function useSessions(): SessionList {
  const [sessions, setSessions] = useState<readonly SessionInfo[] | null>(null);
  const channel = useMemo(() => new BroadcastChannel(CHANNEL), []);

  const refresh = useCallback(async () => {
    const page = await client.listSessions({ limit: LIMIT });
    setSessions(page.sessions);
    return page.sessions;
  }, []);

  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === "visible") void refresh().catch(() => {});
    };
    channel.addEventListener("message", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      channel.removeEventListener("message", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [channel, refresh]);

  const opening = useRef<Promise<string> | null>(null);
  return useMemo(() => {
    const openOne = async (): Promise<string> => {
      const known = await refresh();
      const empty = known.find(({ title }) => title === null);
      if (empty !== undefined) return empty.id;
      const made = await client.createSession();
      await changed();
      return made.id;
    };
    const changed = async (): Promise<void> => {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none
      channel.postMessage("changed");
      await refresh();
    };
    return {
      sessions: sessions ?? [],
      isKnown: sessions !== null,
      refresh,
      // Concurrent calls share one new session.
      fresh: () => {
        opening.current ??= openOne().finally(() => {
          opening.current = null;
        });
        return opening.current;
      },
      async rename(id, title) {
        await client.renameSession(id, title);
        await changed();
      },
      async erase(id) {
        await client.deleteSession(id);
        await changed();
      },
    };
  }, [sessions, channel, refresh]);
}
