/** `App` is the page: a bar with the language and the share button above `<Chat>`, which does the rest. */
import { Chat, SessionProvider } from "@turnstream/react";
import { useSessionRoute } from "@turnstream/react/chat";
import { ShareDialog } from "@turnstream/react/sharing";
import { type ReactNode, useState } from "react";
import { SUGGESTIONS, TOPICS } from "../shared/suggestions.ts";
import { Bar } from "./bar.tsx";
import { client } from "./client.ts";
import { useLanguage } from "./languages.ts";
import { shareLink } from "./use-share-token.ts";
import { Welcome } from "./welcome.tsx";

export function App(): ReactNode {
  const [language, setLocale] = useLanguage();
  const { locale, strings, thread, agent, agentNames } = language;
  const { current } = useSessionRoute("session");
  const [isSharing, setSharing] = useState(false);
  const questions = TOPICS.filter((topic) => topic !== "file").map((topic) => SUGGESTIONS[locale][topic]);
  return (
    <div className="ts-root ma-page">
      <Bar language={language} onLocale={setLocale}>
        {current !== null && (
          <button type="button" className="ts-button" onClick={() => setSharing(true)}>
            {strings.share}
          </button>
        )}
      </Bar>
      <Chat
        client={client}
        agent={agent}
        strings={thread}
        agentNames={agentNames}
        argumentNames={strings.argumentNames}
        suggestions={questions}
        welcome={<Welcome language={language} />}
        composer={{ placeholder: strings.placeholder }}
      />
      {isSharing && current !== null && (
        <SessionProvider session={client.session(current)} strings={thread}>
          <ShareDialog client={client} isOpen onClose={() => setSharing(false)} getLink={shareLink} />
        </SessionProvider>
      )}
    </div>
  );
}
