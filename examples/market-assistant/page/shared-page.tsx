/** `SharedPage` shows the session behind a link, read-only, and continues it in a session of the reader. */
import { SharedThread } from "@turnstream/react/sharing";
import type { ReactNode } from "react";
import { AgentHeader } from "./agent-header.tsx";
import { client } from "./client.ts";
import { Switches } from "./switches.tsx";
import { usePageSettings } from "./use-page-settings.ts";

const PARTS = { AgentHeader };

export function SharedPage({ token }: { readonly token: string }): ReactNode {
  const { language, theme, setLocale, setTheme } = usePageSettings();
  const { strings, thread, agents } = language;
  return (
    <div className="ts-root ma-shared">
      <header className="ma-bar">
        <span className="ma-mark" aria-hidden="true" />
        <strong className="ma-title">{strings.name}</strong>
        <Switches language={language} theme={theme} onLocale={setLocale} onTheme={setTheme} />
      </header>
      <SharedThread
        client={client}
        token={token}
        strings={thread}
        agentNames={agents}
        components={PARTS}
        onContinue={({ id }) => location.assign(`${location.pathname}?session=${id}`)}
      />
    </div>
  );
}
