/** `Chat` shows one session: its thread, or suggestions while it is empty, and the dialog that shares it. */
import type { Session } from "@turnstream/client";
import { SessionProvider, Thread, useSessionSelector } from "@turnstream/react";
import { ShareDialog } from "@turnstream/react/sharing";
import { type ReactNode, useEffect } from "react";
import { AgentHeader } from "./agent-header.tsx";
import { client } from "./client.ts";
import type { Language } from "./languages.ts";
import { Suggestions } from "./suggestions.tsx";
import { shareLink } from "./use-share-token.ts";

interface ChatProps {
  readonly session: Session;
  readonly language: Language;
  /** Called when the title or the number of turns changes, so that the list is reloaded. */
  readonly onChange: () => void;
  /** Called if the session does not exist. */
  readonly onNotFound: () => void;
  /** Whether the share dialog is open. */
  readonly isSharing: boolean;
  /** Called when the user closes the share dialog. */
  readonly onShared: () => void;
}

const PARTS = { AgentHeader };

export function Chat(props: ChatProps): ReactNode {
  const { session, language, onChange, onNotFound, isSharing, onShared } = props;
  const { strings, thread, agent, agents } = language;
  const empty = (
    <div className="ma-empty">
      <span className="ma-mark" aria-hidden="true" />
      <h2>{strings.name}</h2>
      <p>{strings.tagline}</p>
      <Suggestions session={session} language={language} />
      <p className="ma-note">{strings.invented}</p>
    </div>
  );
  return (
    <SessionProvider session={session} strings={thread} agentNames={agents} components={PARTS}>
      <Watcher onChange={onChange} onNotFound={onNotFound} />
      <Thread empty={empty} composer={{ placeholder: strings.placeholder, agentId: agent }} />
      <ShareDialog client={client} isOpen={isSharing} onClose={onShared} getLink={shareLink} />
    </SessionProvider>
  );
}

function Watcher({ onChange, onNotFound }: Pick<ChatProps, "onChange" | "onNotFound">): null {
  const title = useSessionSelector(({ state }) => state.title);
  const turns = useSessionSelector(({ state }) => state.turns.length);
  const isNotFound = useSessionSelector(({ connection }) => connection.error?.code === "NOT_FOUND");
  useEffect(onChange, [title, turns, onChange]);
  useEffect(() => {
    if (isNotFound) onNotFound();
  }, [isNotFound, onNotFound]);
  return null;
}
