/**
 * `watchAnnouncements` collects the announcements of a session for the live regions of a page.
 * Invariant: the newest 20 stay, because new ones can arrive faster than a screen reader reads them. Each has its own
 * id: show each in its own element, because a text that replaces another one immediately may never be read.
 */
import { type AnnouncementOptions, type AnnouncementText, listAnnouncements } from "./announcements.ts";
import type { ThreadStore } from "./thread-store.ts";

/** An announcement of the session for a screen reader. */
export interface Announcement extends AnnouncementText {
  /** Increases, because the same text can be announced twice. */
  readonly id: number;
}

const MAX_ANNOUNCEMENTS = 20;

/**
 * @param onChange called with all announcements that stay, oldest first
 * @returns a function that ends it
 */
export function watchAnnouncements(
  store: Pick<ThreadStore, "getView" | "subscribe">,
  options: AnnouncementOptions,
  onChange: (announcements: readonly Announcement[]) => void,
): () => void {
  let seen = store.getView().state;
  let all: readonly Announcement[] = [];
  let count = 0;
  return store.subscribe("view", () => {
    const before = seen;
    seen = store.getView().state;
    const added = listAnnouncements(before, seen, options);
    if (added.length === 0) return;
    const limit = Math.max(MAX_ANNOUNCEMENTS, added.length);
    all = [...all, ...added.map((entry) => ({ ...entry, id: ++count }))].slice(-limit);
    onChange(all);
  });
}
