/**
 * The one place that speaks to screen readers: politely, and urgently only of errors. Nobody sees it. Each piece of news is
 * an element of its own: a text that is put in place of another at once may never be read.
 */
import type { ReactNode } from "react";
import { type SpokenNews, useAnnouncements } from "../hooks/use-announcements.ts";

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
