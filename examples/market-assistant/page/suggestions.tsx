/** `Suggestions` shows messages that can be sent with one click. The one about a file also attaches the file. */
import type { Session } from "@turnstream/client";
import type { ReactNode } from "react";
import { SAMPLE_NAME, SAMPLE_STATEMENT } from "../shared/sample-statement.ts";
import { SUGGESTIONS, type Topic, TOPICS } from "../shared/suggestions.ts";
import type { Language } from "./languages.ts";

interface SuggestionsProps {
  readonly session: Session;
  readonly language: Language;
  readonly onAsk?: () => void;
}

export function Suggestions({ session, language, onAsk }: SuggestionsProps): ReactNode {
  const texts = SUGGESTIONS[language.locale];
  return (
    <ul className="ma-suggestions" aria-label={language.strings.suggestions}>
      {TOPICS.map((topic) => (
        <li key={topic}>
          <button
            type="button"
            className="ma-suggestion"
            data-topic={topic}
            onClick={() => {
              onAsk?.();
              void ask(session, language, topic).catch(() => {});
            }}
          >
            <span>{texts[topic]}</span>
            <small>{language.strings.shows[topic]}</small>
          </button>
        </li>
      ))}
    </ul>
  );
}

async function ask(session: Session, { locale, agent }: Language, topic: Topic): Promise<void> {
  const text = SUGGESTIONS[locale][topic];
  if (topic !== "file") return await session.send({ text, agentId: agent, locale }).done;
  const statement = new Blob([SAMPLE_STATEMENT], { type: "text/csv" });
  const { url, name } = await session.uploadFile(statement, { name: SAMPLE_NAME });
  await session.send({ text, agentId: agent, locale, files: [{ url, name }] }).done;
}
