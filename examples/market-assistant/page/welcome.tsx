/** `Welcome` is what a new session shows above the suggestions: an introduction, and a suggestion that attaches a file. */
import type { Session } from "@turnstream/client";
import { useSession } from "@turnstream/react";
import type { ReactNode } from "react";
import { SAMPLE_NAMES, SAMPLE_STATEMENT } from "../shared/sample-statement.ts";
import { SUGGESTIONS } from "../shared/suggestions.ts";
import type { Language } from "./languages.ts";

export function Welcome({ language }: { readonly language: Language }): ReactNode {
  const session = useSession();
  const { strings, locale } = language;
  return (
    <>
      <h3>{strings.name}</h3>
      <p className="ts-faint">{strings.tagline}</p>
      <button
        type="button"
        className="ts-chat-suggestion ma-file"
        // The outbox shows a message that fails, and a failed upload can be tried again.
        onClick={() => void askAboutFile(session, language).catch(() => {})}
      >
        {SUGGESTIONS[locale].file}
      </button>
    </>
  );
}

async function askAboutFile(session: Session, { locale, agent }: Language): Promise<void> {
  const statement = new Blob([SAMPLE_STATEMENT], { type: "text/csv" });
  const { url, name } = await session.uploadFile(statement, { name: SAMPLE_NAMES[locale] });
  await session.send({ text: SUGGESTIONS[locale].file, agentId: agent, locale, files: [{ url, name }] }).done;
}
