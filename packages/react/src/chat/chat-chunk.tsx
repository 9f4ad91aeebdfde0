/**
 * `ChatView` renders `Chat`: the list of sessions, the thread of the open one, and the states without a thread. A chunk,
 * which only `chat.tsx` imports.
 * Invariant: a new session is created with its first message, never by opening the page. A user who is signed out sees
 * that instead of a thread, and nothing is retried until the user asks for it or returns to the page.
 */
import { type Client, type ClientError, createClient, signIn } from "@turnstream/client";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { useSessionSelector } from "../hooks/use-session-selector.ts";
import { markPart } from "../parts.tsx";
import { SessionProvider } from "../provider.tsx";
import type { ComposerProps } from "../components.ts";
import type { SessionProviderProps } from "../context.ts";
import { useComposerStore } from "../hooks/stores.ts";
import { type ChatStrings, resolveChatStrings } from "../strings/chat.ts";
import { Thread } from "../thread/thread.tsx";
import { visibleText } from "../visible-text.ts";
import { ChatDrawer } from "./chat-drawer.tsx";
import { SessionList } from "./session-list.tsx";
import { useAgents } from "./use-agents.ts";
import { useChatSession } from "./use-chat-session.ts";
import { useSessionRoute } from "./use-session-route.ts";
import { type Sessions, useSessions } from "./session-list-store.ts";
import { Button } from "../ui/button.tsx";

export interface ChatProps extends Omit<SessionProviderProps, "session" | "children" | "readOnly"> {
  /**
   * The client. Keep it stable between renders.
   * @default one client for the origin of the page, whose users the gateway signs in
   */
  readonly client?: Client;
  /** The name of the agent that answers. @default the user chooses, if the server has several */
  readonly agent?: string;
  /** Messages that a new session offers. A press fills the field of the composer. */
  readonly suggestions?: readonly string[];
  /** Shown above the suggestions of a new session. @default a greeting */
  readonly welcome?: ReactNode;
  /** The props of the composer. */
  readonly composer?: ComposerProps;
  /** The name of the query parameter with the id of the open session. False keeps it out of the URL. @default "session" */
  readonly route?: string | false;
  /** Shown to a user who is signed out, such as a link to your sign-in page. */
  readonly signedOut?: ReactNode;
}

let originClient: Client | null = null;

/** One client for all chats of the page, because they share its connection. */
const getOriginClient = (): Client =>
  (originClient ??= createClient({ url: location.origin, auth: () => signIn() }));

export function ChatView(props: ChatProps): ReactNode {
  const { agent, suggestions, welcome, composer, route: parameter = "session", signedOut, ...rest } = props;
  const { client = getOriginClient(), ...provider } = rest;
  const { theme, classNames } = provider;
  const strings = resolveChatStrings(provider.strings);
  const chat = strings.chat;
  const sessions = useSessions(client);
  const { current, open, getLink } = useSessionRoute(parameter);
  const [isMissing, setMissing] = useState(false);
  const [isListOpen, setListOpen] = useState(false);
  const [opened, setOpened] = useState(0);
  const onCreated = useCallback((id: string) => open(id, true), [open]);
  const session = useChatSession({ client, current, create: sessions.create, onCreated });
  const agentId = agent ?? composer?.agentId;
  const agents = useAgents(client, agentId === undefined && sessions.sessions !== null);
  const show = (id: string | null): void => {
    if (id !== current) open(id);
    setMissing(false);
    setListOpen(false);
    setOpened((n) => n + 1);
  };
  const onMissing = useCallback(() => {
    open(null, true);
    setMissing(true);
  }, [open]);
  const title = sessions.sessions?.find(({ id }) => id === current)?.title ?? null;
  const untitled = current === null ? chat.newSession : chat.untitled;
  const list = (
    <SessionList
      sessions={sessions}
      current={current}
      strings={strings}
      {...(classNames !== undefined && { classNames })}
      getLink={getLink}
      onOpen={show}
      onNew={() => show(null)}
      onDeleted={(id) => {
        if (id === current) open(null, true);
      }}
    />
  );
  return (
    <div {...markPart(classNames, "chat", "ts-root ts-chat")} lang={strings.locale} data-theme={theme}>
      {isSignedOut(sessions) ? (
        <SignedOut strings={strings} onRetry={() => void sessions.refresh()}>
          {signedOut}
        </SignedOut>
      ) : (
        <ChatDrawer
          strings={strings}
          title={title === null ? untitled : visibleText(title)}
          list={list}
          isOpen={isListOpen}
          onToggle={setListOpen}
        >
          {isMissing && (
            <p className="ts-chat-note" role="status">
              {chat.missing}
            </p>
          )}
          <SessionProvider {...provider} session={session}>
            <Thread
              welcome={welcome}
              {...(suggestions !== undefined && { suggestions })}
              composer={{ agents, ...composer, ...(agentId !== undefined && { agentId }) }}
            />
            <SessionWatcher sessions={sessions} title={title} onMissing={onMissing} />
            <FocusOnOpen opened={opened} />
          </SessionProvider>
        </ChatDrawer>
      )}
    </div>
  );
}

function isSignedOut({ error }: Sessions): boolean {
  return (error as Partial<ClientError> | null)?.code === "UNAUTHENTICATED";
}

/** Focuses the composer when the user opens a session. On a phone the keyboard would cover half of the screen. */
function FocusOnOpen({ opened }: { readonly opened: number }): null {
  const composer = useComposerStore();
  useEffect(() => {
    if (opened > 0 && matchMedia("(pointer: fine)").matches) composer.focus();
    // The composer is another one in another session, which the user may not have opened.
  }, [opened]);
  return null;
}

interface SignedOutProps {
  readonly strings: ChatStrings;
  readonly onRetry: () => void;
  readonly children: ReactNode;
}

function SignedOut({ strings, onRetry, children }: SignedOutProps): ReactNode {
  return (
    <div className="ts-chat-signed-out">
      <p role="status">{strings.chat.signedOut}</p>
      {children ?? <Button onClick={onRetry}>{strings.thread.tryAgain}</Button>}
    </div>
  );
}

interface SessionWatcherProps {
  readonly sessions: Sessions;
  /** The title in the list. */
  readonly title: string | null;
  readonly onMissing: () => void;
}

/** Reloads the list if a turn starts or the title changes, and reports a session that doesn't exist. */
function SessionWatcher({ sessions: { refresh }, title: listed, onMissing }: SessionWatcherProps): null {
  const title = useSessionSelector(({ state }) => state.title);
  const running = useSessionSelector(({ state }) => {
    const last = state.turns.last();
    return last?.status === "running" ? last.id : null;
  });
  const isMissing = useSessionSelector(({ connection }) => connection.error?.code === "NOT_FOUND");
  useEffect(() => {
    if (running !== null || (title !== null && title !== listed)) void refresh();
    // A reload of the list changes `listed`, which must not reload it again.
  }, [running, title, refresh]);
  useEffect(() => {
    if (isMissing) onMissing();
  }, [isMissing, onMissing]);
  return null;
}
