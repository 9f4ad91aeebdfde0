/** `SharedPage` shows the session behind a link, read-only, and continues it in a session of the reader. */
import { SharedThread } from "@turnstream/react/sharing";
import type { ReactNode } from "react";
import { Bar } from "./bar.tsx";
import { client } from "./client.ts";
import { useLanguage } from "./languages.ts";

export function SharedPage({ token }: { readonly token: string }): ReactNode {
  const [language, setLocale] = useLanguage();
  const { strings, thread, agentNames } = language;
  return (
    <div className="ts-root ma-page">
      <Bar language={language} onLocale={setLocale} />
      <SharedThread
        client={client}
        token={token}
        strings={thread}
        agentNames={agentNames}
        argumentNames={strings.argumentNames}
        onContinue={({ id }) => location.assign(`${location.pathname}?session=${id}`)}
      />
    </div>
  );
}
