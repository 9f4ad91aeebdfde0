/**
 * `readAllEvents` reads a whole session from the archive and the log, and `readLog` reads it from the log alone. For
 * checks at the end of a test.
 */
import type { Cursor, SessionEvent } from "@turnstream/protocol";
import type { Backend, SessionRef } from "@turnstream/server";
import type { Log, LogEntry } from "@turnstream/server/internal";

const PAGE = 500;

/** Returns all events of a session that still exist: the pages of the archive, then the rest of the log. */
export async function readAllEvents({ store, log }: Backend, ref: SessionRef): Promise<SessionEvent[]> {
  const events = await readArchive(store, ref);
  for (let after: Cursor = events.at(-1)?.id ?? "0-0"; ;) {
    const page = await log.read(ref, { after });
    if (!page.ok || page.entries.length === 0) return events;
    events.push(...page.entries.map(({ event }) => event));
    after = page.entries.at(-1)?.cursor ?? after;
  }
}

/** Returns all archived events of a session. */
export async function readArchive(store: Backend["store"], ref: SessionRef): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for (let after = 0; ;) {
    const page = await store.archive.events(ref, { after, limit: PAGE });
    if (page.length === 0) return events;
    events.push(...page);
    after = Number(page.at(-1)?.id.split("-")[1]);
  }
}

/** Returns all entries of a log after a position, or null if the log does not have that position. */
export async function readLog(log: Log, ref: SessionRef, after: Cursor): Promise<LogEntry[] | null> {
  const entries: LogEntry[] = [];
  while (true) {
    const page = await log.read(ref, { after: entries.at(-1)?.cursor ?? after });
    if (!page.ok) return null;
    entries.push(...page.entries);
    if (!page.more) return entries;
  }
}
