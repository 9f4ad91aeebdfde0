/**
 * Entries that the log no longer has, from the archive: for viewers who begin with a turn that was archived and trimmed.
 * Only from a position that the archive has for itself: one of a lost timeline is none. Reads only.
 */
import { comparePositions, formatCursor, parseCursor, type Position } from "@turnstream/protocol";
import { LogEntry } from "../log/entry.ts";
import type { Ref } from "../store/refs.ts";
import type { Store } from "../store/store.ts";

/** Who wrote it is not in the archive. */
const KEY = "archive:0";

/** @returns at least one entry, or null when there is none to be had */
export async function archivedEntries(
  store: Store,
  ref: Ref,
  after: Position,
  { upTo, limit }: { readonly upTo: Position; readonly limit: number },
): Promise<readonly LogEntry[] | null> {
  const isStart = after.seq === 0;
  const from = isStart ? 0 : after.seq - 1;
  const events = await store.archive.events(ref, { after: from, limit: isStart ? limit : limit + 1 });
  if (!isStart && events[0]?.id !== formatCursor(after)) return null;
  const entries = events.slice(isStart ? 0 : 1).flatMap(({ id, ...event }) => {
    const at = parseCursor(id);
    return at === null || comparePositions(at, upTo) > 0
      ? []
      : [new LogEntry(at.epoch, at.seq, `${KEY} ${JSON.stringify(event)}`)];
  });
  return entries.length === 0 ? null : entries;
}
