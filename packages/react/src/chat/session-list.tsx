/**
 * `SessionList` lists the user's sessions. The user opens, renames and deletes them, and starts a new one.
 * Invariant: it shows what `useSessions` has loaded and keeps no copy. After a deletion the focus moves to the button
 * for a new session. Outcomes are announced to screen readers.
 */
import { type ReactNode, useRef, useState } from "react";
import { errorText } from "../error-text.ts";
import type { ClassNames } from "../components.ts";
import { markPart } from "../parts.tsx";
import type { StringChanges } from "../strings/extend-strings.ts";
import { resolveChatStrings } from "../strings/chat.ts";
import type { Strings } from "../strings/en.ts";
import { ChatIcon } from "./chat-icon.tsx";
import { SessionRow } from "./session-row.tsx";
import type { Sessions } from "./session-list-store.ts";
import { Button } from "../ui/button.tsx";

export interface SessionListProps {
  /** The result of `useSessions`. */
  readonly sessions: Sessions;
  /** The id of the open session; null for a new one. */
  readonly current: string | null;
  readonly onOpen: (sessionId: string) => void;
  /** Called when the user starts a new session. Nothing is created on the server. */
  readonly onNew: () => void;
  /** Called after a session was deleted. */
  readonly onDeleted?: (sessionId: string) => void;
  /** Returns the URL that opens a session, so that the user can open it in another tab. @default rows are buttons */
  readonly getLink?: (sessionId: string) => string | undefined;
  /** Classes that are added to the parts `session-list` and `session-row`. */
  readonly classNames?: ClassNames;
  /** The UI strings, or some of them. @default English */
  readonly strings?: StringChanges<Strings>;
  /** Forces the light or dark theme. @default the theme of the page or the system */
  readonly theme?: "light" | "dark";
}

export function SessionList(props: SessionListProps): ReactNode {
  const { sessions: list, current, onOpen, onNew, onDeleted, getLink, classNames, theme } = props;
  const strings = resolveChatStrings(props.strings);
  const { sessions, error, isLoading, hasMore } = list;
  const chat = strings.chat;
  // The name of a string instead of its text, because the language can change while it is shown.
  const [notice, setNotice] = useState<"renamed" | "deleted" | null>(null);
  const newButton = useRef<HTMLButtonElement>(null);
  return (
    <nav
      {...markPart(classNames, "session-list", "ts-root ts-sessions")}
      aria-label={chat.sessions}
      lang={strings.locale}
      data-theme={theme}
    >
      <button
        type="button"
        className="ts-session-new"
        ref={newButton}
        aria-current={current === null ? "page" : undefined}
        onClick={onNew}
      >
        <ChatIcon name="plus" />
        {chat.newSession}
      </button>
      {sessions === null && error === null && <p className="ts-faint">{chat.loading}</p>}
      {sessions?.length === 0 && <p className="ts-faint">{chat.noSessions}</p>}
      <ul>
        {sessions?.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            isCurrent={session.id === current}
            strings={strings}
            classNames={classNames}
            link={getLink?.(session.id)}
            onOpen={() => onOpen(session.id)}
            onRename={async (title) => {
              await list.rename(session.id, title);
              setNotice("renamed");
            }}
            onDelete={async () => {
              await list.remove(session.id);
              setNotice("deleted");
              newButton.current?.focus();
              onDeleted?.(session.id);
            }}
          />
        ))}
      </ul>
      {error !== null && (
        <p className="ts-card-problem" role="alert">
          {errorText(strings, error)}
        </p>
      )}
      {(hasMore || error !== null) && (
        <Button disabled={isLoading} onClick={() => void list.loadMore()}>
          {error === null ? chat.moreSessions : strings.thread.tryAgain}
        </Button>
      )}
      <p className="ts-sr" role="status">
        {notice === null ? "" : chat[notice]}
      </p>
    </nav>
  );
}
