/** The latest news of the session in words for a screen reader, oldest first. Draws anew only when there is news. */
import { useEffect, useState } from "react";
import { useShared } from "../context.ts";
import { listAnnouncements } from "@turnstream/client/view";
import { agentName } from "./use-names.ts";

export interface SpokenNews {
  /** Rises: the same words may be said twice. */
  readonly id: number;
  readonly text: string;
  /** Errors only: they may interrupt. */
  readonly isUrgent: boolean;
}

const SILENCE: readonly SpokenNews[] = [];
/** What has been said is kept for a while, for it may come faster than it is read. */
const KEPT = 20;

export function useAnnouncements(): readonly SpokenNews[] {
  const { store, strings, agents } = useShared();
  const [news, setNews] = useState(SILENCE);
  useEffect(() => {
    let seen = store.view().state;
    const nameOf = (agent: string): string => agentName(agents, agent);
    return store.subscribe("view", () => {
      const before = seen;
      seen = store.view().state;
      const said = listAnnouncements(before, seen, {
        strings: strings.thread.announce,
        defaultError: strings.thread.failed,
        agentName: nameOf,
      });
      if (said.length === 0) return;
      setNews((last) => {
        const next = (last.at(-1)?.id ?? 0) + 1;
        const all = [...last, ...said.map((one, n) => ({ ...one, id: next + n }))];
        return all.slice(-Math.max(KEPT, said.length));
      });
    });
  }, [store, strings, agents]);
  return news;
}
