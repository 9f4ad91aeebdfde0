/**
 * `Announcer` announces changes to screen readers: politely, and assertively only for errors. It is visually hidden.
 * Invariant: each announcement is its own element. A text that replaces another one immediately may never be read.
 */
import { type ReactNode, useEffect, useState } from "react";
import { type Announcement, watchAnnouncements } from "@turnstream/client/view";
import { useThreadContext } from "../context.ts";
import { formatName } from "../hooks/use-names.ts";
import { noticeText } from "../notice-text.ts";
import { usePart } from "../parts.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { useThreadStore } from "../hooks/stores.ts";

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

const NO_ANNOUNCEMENTS: readonly Announcement[] = [];

export function useAnnouncements(): readonly Announcement[] {
  const { agentNames } = useThreadContext();
  const store = useThreadStore();
  const strings = useCardStrings();
  const [announcements, setAnnouncements] = useState(NO_ANNOUNCEMENTS);
  useEffect(
    () =>
      watchAnnouncements(
        store,
        {
          strings: strings.thread.announce,
          describeError: (notice) => (notice === null ? strings.thread.failed : noticeText(strings, notice)),
          describeStatus: (status) => strings.cards.paymentStatus[status],
          agentName: (agent) => formatName(agentNames, agent),
        },
        setAnnouncements,
      ),
    [store, strings, agentNames],
  );
  return announcements;
}
