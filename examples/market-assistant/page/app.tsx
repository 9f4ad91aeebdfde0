/** `App` is the page: list, bar and thread, with the current session, language and theme. */
import { useChatSession, useSessionRoute, useSessions } from "@turnstream/react/chat";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Chat } from "./chat.tsx";
import { client } from "./client.ts";
import { Icon } from "./icons.tsx";
import { Sidebar } from "./sidebar.tsx";
import { Suggestions } from "./suggestions.tsx";
import { Switches } from "./switches.tsx";
import { useNarrow } from "./use-narrow.ts";
import { usePageSettings } from "./use-page-settings.ts";

const IDEAS = "ma-ideas";

export function App(): ReactNode {
  const { language, theme, setLocale, setTheme } = usePageSettings();
  const { strings } = language;
  const sessions = useSessions(client);
  const { refresh } = sessions;
  const { current, open, getLink } = useSessionRoute("session");
  const onCreated = useCallback((id: string) => open(id, true), [open]);
  const session = useChatSession({ client, current, create: sessions.create, onCreated });
  const isNarrow = useNarrow();
  const [isOpen, setOpen] = useState(false);
  const [isSharing, setSharing] = useState(false);
  const main = useRef<HTMLElement>(null);
  const ideas = useRef<HTMLDivElement>(null);
  const title = sessions.sessions?.find(({ id }) => id === current)?.title ?? null;

  useEffect(() => {
    document.title = title === null ? strings.name : `${title} · ${strings.name}`;
  }, [title, strings]);

  const onChange = useCallback(() => void refresh(), [refresh]);
  const onNotFound = useCallback(() => open(null, true), [open]);
  const show = (id: string | null): void => {
    if (id !== current) open(id);
    setOpen(false);
    // On a phone the keyboard would cover half of the screen, so don't focus there.
    if (window.matchMedia("(pointer: fine)").matches)
      requestAnimationFrame(() => main.current?.querySelector("textarea")?.focus());
  };

  return (
    <div className="ts-root ma-app">
      <Sidebar
        sessions={sessions}
        current={current}
        language={language}
        isNarrow={isNarrow}
        isOpen={isOpen}
        getLink={getLink}
        onClose={() => setOpen(false)}
        onNew={() => show(null)}
        onOpen={show}
        onDeleted={(id) => {
          if (id === current) open(null, true);
        }}
      />
      <main className="ma-main" ref={main}>
        <header className="ma-bar">
          {isNarrow && (
            <button
              type="button"
              className="ma-icon-button"
              aria-label={strings.menu}
              aria-expanded={isOpen}
              onClick={() => setOpen(true)}
            >
              <Icon name="menu" />
            </button>
          )}
          <h1 className="ma-title">{title ?? strings.untitled}</h1>
          {title !== null && (
            <button
              type="button"
              className="ma-icon-button"
              aria-label={strings.share}
              title={strings.share}
              onClick={() => setSharing(true)}
            >
              <Icon name="share" />
            </button>
          )}
          <button
            type="button"
            className="ma-icon-button"
            aria-label={strings.suggestions}
            title={strings.suggestions}
            popoverTarget={IDEAS}
          >
            <Icon name="bulb" />
          </button>
          <Switches language={language} theme={theme} onLocale={setLocale} onTheme={setTheme} />
        </header>
        <Chat
          key={session.id}
          session={session}
          language={language}
          onChange={onChange}
          onNotFound={onNotFound}
          isSharing={isSharing}
          onShared={() => setSharing(false)}
        />
        <div id={IDEAS} className="ma-ideas" popover="auto" ref={ideas}>
          <Suggestions session={session} language={language} onAsk={() => ideas.current?.hidePopover()} />
        </div>
      </main>
    </div>
  );
}
