/** The latest news of the session in words for a screen reader. Draws anew only when there is news. */
import { useEffect, useState } from "react";
import { useShared } from "../context.ts";
import { announcements } from "../store/announcements.ts";
import { agentName } from "./use-agent-name.ts";

export interface SpokenNews {
  readonly polite: string;
  readonly urgent: string;
}

const SILENCE: SpokenNews = { polite: "", urgent: "" };

/** What stays the same isn't read again: the same words twice need something nobody hears between them. */
function spoken(last: string, text: string): string {
  return text !== "" && text === last ? `${text}\u00a0` : text;
}

export function useAnnouncements(): SpokenNews {
  const { store, strings, agents } = useShared();
  const [news, setNews] = useState(SILENCE);
  useEffect(() => {
    let seen = store.view().state;
    const nameOf = (agent: string): string => agentName(agents, agent);
    return store.subscribe("view", () => {
      const before = seen;
      seen = store.view().state;
      const said = announcements(before, seen, { words: strings.thread, nameOf });
      if (said.length === 0) return;
      const textOf = (isUrgent: boolean): string =>
        said
          .filter((one) => one.isUrgent === isUrgent)
          .map(({ text }) => text)
          .join(" ");
      setNews((last) => ({
        polite: spoken(last.polite, textOf(false)),
        urgent: spoken(last.urgent, textOf(true)),
      }));
    });
  }, [store, strings, agents]);
  return news;
}
