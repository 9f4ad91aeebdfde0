/** One session: its thread, and what an empty one proposes. */
import type { Session } from "@turnstream/client";
import { SessionProvider, Thread, useView } from "@turnstream/react";
import { type ReactNode, useEffect } from "react";
import { Brand } from "./brand.tsx";
import type { Language } from "./languages.ts";
import { Suggestions } from "./suggestions.tsx";

interface ChatProps {
  readonly session: Session;
  readonly language: Language;
  /** Something that the list of sessions shows is another. */
  readonly onChange: (title: string | null) => void;
  /** It isn't there any more, or never was. */
  readonly onGone: () => void;
}

const PARTS = { Brand };

export function Chat({ session, language, onChange, onGone }: ChatProps): ReactNode {
  const { words, thread, agent, agents } = language;
  const empty = (
    <div className="ma-empty">
      <span className="ma-mark" aria-hidden="true" />
      <h2>{words.name}</h2>
      <p>{words.tagline}</p>
      <Suggestions session={session} language={language} />
      <p className="ma-note">{words.invented}</p>
    </div>
  );
  return (
    <SessionProvider session={session} strings={thread} agents={agents} components={PARTS}>
      <Watcher onChange={onChange} onGone={onGone} />
      <Thread empty={empty} composer={{ placeholder: words.placeholder, agent }} />
    </SessionProvider>
  );
}

function Watcher({ onChange, onGone }: Pick<ChatProps, "onChange" | "onGone">): null {
  const title = useView(({ state }) => state.title);
  const turns = useView(({ state }) => state.turns.length);
  const isGone = useView(({ connection }) => connection.error?.code === "NOT_FOUND");
  useEffect(() => onChange(title), [title, turns, onChange]);
  useEffect(() => {
    if (isGone) onGone();
  }, [isGone, onGone]);
  return null;
}
