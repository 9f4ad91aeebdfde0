"use client";

import { en } from "@turnstream/react";
import type { Sessions } from "@turnstream/react/chat";
import { Button } from "./ui/button.tsx";

interface SessionListProps {
  /** The result of `useSessions(client)`. */
  readonly sessions: Sessions;
  /** The id of the open session; null for a new one. */
  readonly current: string | null;
  readonly onOpen: (sessionId: string) => void;
  readonly onNew: () => void;
  readonly strings?: typeof en.chat;
}

/** The user's sessions, with a button for a new one and one that deletes. */
export function SessionList({ sessions, current, onOpen, onNew, strings = en.chat }: SessionListProps) {
  return (
    <nav className="flex flex-col gap-1 p-2" aria-label={strings.sessions}>
      <Button variant="outline" size="sm" onClick={onNew}>
        {strings.newSession}
      </Button>
      {sessions.sessions === null && <p className="text-muted-foreground p-2 text-sm">{strings.loading}</p>}
      <ul className="flex flex-col">
        {sessions.sessions?.map(({ id, title }) => {
          const name = title ?? strings.untitled;
          return (
            <li key={id} className="hover:bg-accent flex items-center rounded-md">
              <button
                type="button"
                className="flex-1 truncate p-2 text-start text-sm aria-[current=page]:font-semibold"
                aria-current={id === current ? "page" : undefined}
                onClick={() => onOpen(id)}
              >
                {name}
              </button>
              <Button
                variant="ghost"
                size="sm"
                aria-label={strings.delete(name)}
                onClick={() => {
                  if (!confirm(strings.deleteQuestion)) return;
                  sessions.remove(id).then(
                    () => id === current && onNew(),
                    // The list still shows the session.
                    () => {},
                  );
                }}
              >
                ×
              </Button>
            </li>
          );
        })}
      </ul>
      {sessions.hasMore && (
        <Button
          variant="ghost"
          size="sm"
          disabled={sessions.isLoading}
          onClick={() => void sessions.loadMore()}
        >
          {strings.moreSessions}
        </Button>
      )}
    </nav>
  );
}
