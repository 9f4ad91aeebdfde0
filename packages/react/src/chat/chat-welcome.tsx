/**
 * `ChatWelcome` is what a new session shows: a greeting, and messages that one press sends.
 * Invariant: a press sends the text as the user would, so the composer and the outbox behave the same.
 */
import type { ReactNode } from "react";
import { useThreadContext } from "../context.ts";
import { chatStrings } from "./chat-strings.ts";

export interface ChatWelcomeProps {
  readonly welcome: ReactNode;
  readonly suggestions: readonly string[];
  readonly agentId: string | undefined;
}

export function ChatWelcome({ welcome, suggestions, agentId }: ChatWelcomeProps): ReactNode {
  const { session, strings } = useThreadContext();
  const chat = chatStrings(strings);
  const send = (text: string): void => {
    const message = { text, locale: strings.locale, ...(agentId !== undefined && { agentId }) };
    // The outbox shows the outcome.
    session.send(message).done.catch(() => {});
  };
  return (
    <div className="ts-chat-welcome">
      {welcome ?? <h3>{chat.welcome}</h3>}
      {suggestions.length > 0 && (
        <ul aria-label={chat.suggestions}>
          {suggestions.map((text) => (
            <li key={text}>
              <button type="button" className="ts-chat-suggestion" onClick={() => send(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
