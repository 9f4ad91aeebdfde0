/**
 * The one place that speaks to screen readers: politely, and urgently only of errors. Nobody sees it. Each piece of news is
 * an element of its own: a text that is put in place of another at once may never be read.
 */
import { type ReactNode, useEffect, useState } from "react";
import { listAnnouncements } from "@turnstream/client/view";
import { useShared } from "../context.ts";
import { agentName } from "../hooks/use-names.ts";

export function Announcer(): ReactNode {
  const news = useAnnouncements();
  return (
    <div className="ts-sr ts-announcer">
      <div role="status" aria-live="polite" aria-atomic="false">
        <Said news={news} isUrgent={false} />
      </div>
      <div role="alert" aria-live="assertive" aria-atomic="false">
        <Said news={news} isUrgent />
      </div>
    </div>
  );
}

interface SaidProps {
  readonly news: readonly SpokenNews[];
  readonly isUrgent: boolean;
}

function Said({ news, isUrgent }: SaidProps): ReactNode {
  return news.filter((one) => one.isUrgent === isUrgent).map(({ id, text }) => <p key={id}>{text}</p>);
}

/** The latest news of the session in words for a screen reader, oldest first. Draws anew only when there is news. */
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
    let seen = store.getView().state;
    const nameOf = (agent: string): string => agentName(agents, agent);
    return store.subscribe("view", () => {
      const before = seen;
      seen = store.getView().state;
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
