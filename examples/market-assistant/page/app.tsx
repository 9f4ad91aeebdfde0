/** `App` is the page: list, bar and thread, with the current session, language and theme. */
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Chat } from "./chat.tsx";
import { client } from "./client.ts";
import { Icon } from "./icons.tsx";
import { Sidebar } from "./sidebar.tsx";
import { Suggestions } from "./suggestions.tsx";
import { Switches } from "./switches.tsx";
import { useNarrow } from "./use-narrow.ts";
import { usePageSettings } from "./use-page-settings.ts";
import { goTo, replaceWith, useRoute } from "./use-route.ts";
import { useSessions } from "./use-sessions.ts";

const IDEAS = "ma-ideas";

export function App(): ReactNode {
  const { language, theme, setLocale, setTheme } = usePageSettings();
  const { strings } = language;
  const current = useRoute();
  const list = useSessions();
  const isNarrow = useNarrow();
  const [isOpen, setOpen] = useState(false);
  const [isFailed, setFailed] = useState(false);
  const [isSharing, setSharing] = useState(false);
  const main = useRef<HTMLElement>(null);
  const ideas = useRef<HTMLDivElement>(null);
  const title = list.sessions.find(({ id }) => id === current)?.title ?? null;
  const { refresh, fresh } = list;

  useEffect(() => {
    document.title = title === null ? strings.name : `${title} · ${strings.name}`;
  }, [title, strings]);

  const openFresh = useCallback(
    async (go: (id: string) => void) => {
      try {
        setFailed(false);
        go(await fresh());
      } catch {
        setFailed(true);
      }
    },
    [fresh],
  );
  const isChosen = current !== null;
  useEffect(() => {
    if (isChosen) void refresh().catch(() => {});
    else void openFresh(replaceWith);
    // Depends only on whether a session is selected.
  }, [isChosen]);

  const onChange = useCallback(() => void refresh().catch(() => {}), [refresh]);
  const onNotFound = useCallback(() => replaceWith(null), []);
  // On a phone the keyboard would cover half of the screen, so don't focus there.
  const focusComposer = (): void => {
    if (window.matchMedia("(pointer: fine)").matches)
      requestAnimationFrame(() => main.current?.querySelector("textarea")?.focus());
  };
  const open = (id: string): void => {
    goTo(id);
    setOpen(false);
    focusComposer();
  };

  return (
    <div className="ts-root ma-app">
      <Sidebar
        list={list}
        current={current}
        strings={strings}
        isNarrow={isNarrow}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onNew={() => void openFresh(open)}
        onOpen={open}
        onErased={(id) => {
          if (id === current) replaceWith(null);
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
        {current === null ? (
          <div className="ma-opening" role="status">
            {isFailed ? strings.unreachable : strings.opening}
            {isFailed && (
              <button type="button" className="ts-button" onClick={() => void openFresh(replaceWith)}>
                {strings.tryAgain}
              </button>
            )}
          </div>
        ) : (
          <>
            <Chat
              key={current}
              session={client.session(current)}
              language={language}
              onChange={onChange}
              onNotFound={onNotFound}
              isSharing={isSharing}
              onShared={() => setSharing(false)}
            />
            <div id={IDEAS} className="ma-ideas" popover="auto" ref={ideas}>
              <Suggestions
                session={client.session(current)}
                language={language}
                onAsk={() => ideas.current?.hidePopover()}
              />
            </div>
          </>
        )}
      </main>
    </div>
  );
}
