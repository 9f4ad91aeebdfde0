/**
 * `Announcer` announces changes to screen readers: politely, and assertively only for errors. It is visually hidden.
 * Invariant: each announcement is its own element. A text that replaces another one immediately may never be read.
 */
import { type ReactNode, useEffect, useState } from "react";
import { listAnnouncements } from "@turnstream/client/view";
import { useThreadContext } from "../context.ts";
import { formatName } from "../hooks/use-names.ts";
import { noticeText } from "../notice-text.ts";
import { usePart } from "../parts.tsx";

export function Announcer(): ReactNode {
  const announcements = useAnnouncements();
  return (
    <div {...usePart("announcer", "ts-sr ts-announcer")}>
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

/** An announcement of the session for a screen reader. */
export interface Announcement {
  /** Increases, because the same text can be announced twice. */
  readonly id: number;
  readonly text: string;
  /** True only for errors, which may interrupt the screen reader. */
  readonly isUrgent: boolean;
}

const NO_ANNOUNCEMENTS: readonly Announcement[] = [];
/** Old announcements stay for a while, because new ones can arrive faster than they are read. */
const MAX_ANNOUNCEMENTS = 20;

export function useAnnouncements(): readonly Announcement[] {
  const { store, strings, agentNames } = useThreadContext();
  const [announcements, setAnnouncements] = useState(NO_ANNOUNCEMENTS);
  useEffect(() => {
    let seen = store.getView().state;
    const agentName = (agent: string): string => formatName(agentNames, agent);
    return store.subscribe("view", () => {
      const before = seen;
      seen = store.getView().state;
      const added = listAnnouncements(before, seen, {
        strings: strings.thread.announce,
        describeError: (notice) => (notice === null ? strings.thread.failed : noticeText(strings, notice)),
        describeStatus: (status) => strings.cards.paymentStatus[status],
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
