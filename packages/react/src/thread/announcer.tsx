/**
 * The one place that speaks to screen readers: politely, and urgently only of errors. Nobody sees it. Each piece of news is
 * an element of its own: a text that is put in place of another at once may never be read.
 */
import { type ReactNode, useEffect, useState } from "react";
import { listAnnouncements } from "@turnstream/client/view";
import { useThreadContext } from "../context.ts";
import { formatAgentName } from "../hooks/use-names.ts";

export function Announcer(): ReactNode {
  const announcements = useAnnouncements();
  return (
    <div className="ts-sr ts-announcer">
      <div role="status" aria-live="polite" aria-atomic="false">
        <AnnouncementList announcements={announcements} isUrgent={false} />
      </div>
      <div role="alert" aria-live="assertive" aria-atomic="false">
        <AnnouncementList announcements={announcements} isUrgent />
      </div>
    </div>
  );
}

interface AnnouncementListProps {
  readonly announcements: readonly Announcement[];
  readonly isUrgent: boolean;
}

function AnnouncementList({ announcements, isUrgent }: AnnouncementListProps): ReactNode {
  return announcements
    .filter((entry) => entry.isUrgent === isUrgent)
    .map(({ id, text }) => <p key={id}>{text}</p>);
}

/** The latest news of the session in words for a screen reader, oldest first. Draws anew only when there is news. */
export interface Announcement {
  /** Rises: the same words may be said twice. */
  readonly id: number;
  readonly text: string;
  /** Errors only: they may interrupt. */
  readonly isUrgent: boolean;
}

const NO_ANNOUNCEMENTS: readonly Announcement[] = [];
/** What has been said is kept for a while, for it may come faster than it is read. */
const MAX_ANNOUNCEMENTS = 20;

export function useAnnouncements(): readonly Announcement[] {
  const { store, strings, agentNames } = useThreadContext();
  const [announcements, setAnnouncements] = useState(NO_ANNOUNCEMENTS);
  useEffect(() => {
    let seen = store.getView().state;
    const agentName = (agent: string): string => formatAgentName(agentNames, agent);
    return store.subscribe("view", () => {
      const before = seen;
      seen = store.getView().state;
      const added = listAnnouncements(before, seen, {
        strings: strings.thread.announce,
        defaultError: strings.thread.failed,
        agentName,
      });
      if (added.length === 0) return;
      setAnnouncements((last) => {
        const next = (last.at(-1)?.id ?? 0) + 1;
        const all = [...last, ...added.map((entry, n) => ({ ...entry, id: next + n }))];
        return all.slice(-Math.max(MAX_ANNOUNCEMENTS, added.length));
      });
    });
  }, [store, strings, agentNames]);
  return announcements;
}
