/** The one place that speaks to screen readers: politely, and urgently only of errors. Nobody sees it. */
import type { ReactNode } from "react";
import { useAnnouncements } from "../hooks/use-announcements.ts";

export function Announcer(): ReactNode {
  const { polite, urgent } = useAnnouncements();
  return (
    <div className="ts-sr ts-announcer">
      <div role="status" aria-live="polite">
        {polite}
      </div>
      <div role="alert" aria-live="assertive">
        {urgent}
      </div>
    </div>
  );
}
