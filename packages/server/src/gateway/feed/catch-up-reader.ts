/**
 * `CatchUpReader` reads the entries after a position, up to the position of the feed. If a reconnecting client needs
 * entries before the feed's buffer, the gap is read once and buffered for other clients with a similar cursor. Does
 * not follow the log: see follow-log.ts.
 * Invariant: entries start directly after the position, without gaps, and none is after the feed's position. A
 * position of another timeline gives a reason or null, never entries. Only one gap is filled at a time.
 */
import { comparePositions, formatCursor, parseCursor, type Position } from "@turnstream/protocol";
import { LogEntry } from "../../log/entry.ts";
import type { InvalidCursorReason } from "../../log/log.ts";
import type { Backend } from "../../session/backend.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { PAGE_ENTRIES } from "../subscription/replay-page.ts";
import type { EntryBuffer } from "./entry-buffer.ts";

/** The part of a feed that this module uses. */
export interface CatchUpSource {
  readonly ref: SessionRef;
  readonly context: Backend;
  readonly head: Position;
  /** Null while the feed does not follow the log. */
  readonly buffer: EntryBuffer | null;
}

/** A longer gap is not buffered: each subscription reads it page by page. */
const MAX_GAP = 4_096;
const GAP_PAGE = 1_000;
/** Placeholder, because the archive does not store the writer of an event. */
const ARCHIVE_WRITER = "archive:0";

export class CatchUpReader {
  readonly #feed: CatchUpSource;
  #filling: Promise<boolean> | null = null;

  constructor(feed: CatchUpSource) {
    this.#feed = feed;
  }

  /** Returns at most one page of entries, or the reason why the position is invalid. */
  async readAfter(
    position: Position,
    limit = PAGE_ENTRIES,
  ): Promise<readonly LogEntry[] | InvalidCursorReason> {
    const { context, ref } = this.#feed;
    const buffered =
      this.#feed.buffer?.entriesAfter(position, limit) ?? (await this.#readGap(position, limit));
    if (buffered !== null) return buffered;
    const page = await context.log.read(ref, { after: formatCursor(position), limit });
    if (page.ok) return page.entries.filter(({ seq }) => seq <= this.#feed.head.seq);
    if (page.reason !== "missing" && page.reason !== "ahead") return page.reason;
    // While the log does not exist, the archived position is valid.
    const { archived } = await context.store.archive.header(ref);
    return archived === formatCursor(position) ? [] : page.reason;
  }

  /** Like `readAfter`, but falls back to the archive. The log can be trimmed while a turn is being read. */
  async readAfterWithArchive(position: Position): Promise<readonly LogEntry[] | null> {
    const entries = await this.readAfter(position);
    if (typeof entries !== "string") return entries;
    const { context, ref, head } = this.#feed;
    return readArchivedEntries(context.store, ref, position, { upTo: head, limit: PAGE_ENTRIES });
  }

  async #readGap(position: Position, limit: number): Promise<readonly LogEntry[] | null> {
    while (true) {
      const { buffer } = this.#feed;
      const buffered = buffer?.entriesAfter(position, limit) ?? null;
      if (buffer === null || buffered !== null || !isNear(buffer, position)) return buffered;
      if (this.#filling !== null) {
        // Another read in progress may fill this gap too.
        await this.#filling.catch(() => false);
        continue;
      }
      this.#filling = this.#fill(buffer, position).finally(() => (this.#filling = null));
      if (!(await this.#filling)) return null;
    }
  }

  /** @returns true if all entries between the position and the buffer are buffered now */
  async #fill(buffer: EntryBuffer, position: Position): Promise<boolean> {
    const { context, ref } = this.#feed;
    const gap: LogEntry[] = [];
    let last = position;
    let bytes = 0;
    while (last.seq < buffer.base.seq) {
      const page = await context.log.read(ref, { after: formatCursor(last), limit: GAP_PAGE });
      const next = page.ok ? page.entries.at(-1) : undefined;
      if (!page.ok || next === undefined) return false;
      for (const entry of page.entries) bytes += entry.size;
      if (bytes > buffer.prependableBytes) return false;
      gap.push(...page.entries);
      last = next;
    }
    return this.#feed.buffer === buffer && buffer.prepend(position, gap);
  }
}

function isNear({ base }: EntryBuffer, { seq }: Position): boolean {
  return seq < base.seq && base.seq - seq <= MAX_GAP;
}

/**
 * Reads entries from the archive that the log no longer has, for subscriptions that start with a trimmed turn. The
 * archive must contain the position itself: a position of a lost timeline returns null. Reads only.
 * @returns at least one entry, or null if there is none
 */
async function readArchivedEntries(
  store: Store,
  ref: SessionRef,
  after: Position,
  { upTo, limit }: { readonly upTo: Position; readonly limit: number },
): Promise<readonly LogEntry[] | null> {
  const isStart = after.seq === 0;
  const from = isStart ? 0 : after.seq - 1;
  const events = await store.archive.events(ref, { after: from, limit: isStart ? limit : limit + 1 });
  if (!isStart && events[0]?.id !== formatCursor(after)) return null;
  const entries = events.slice(isStart ? 0 : 1).flatMap(({ id, ...event }) => {
    const position = parseCursor(id);
    return position === null || comparePositions(position, upTo) > 0
      ? []
      : [new LogEntry(position.epoch, position.seq, `${ARCHIVE_WRITER} ${JSON.stringify(event)}`)];
  });
  return entries.length === 0 ? null : entries;
}
