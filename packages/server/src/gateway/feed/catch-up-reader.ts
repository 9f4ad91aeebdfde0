/**
 * What a feed has seen after a position. Who comes back asks for what lies before the entries that the feed holds: the gap
 * is read once and held for the others, who come back with cursors near by. Never follows: see follow-session.ts.
 */
import { comparePositions, formatCursor, parseCursor, type Position } from "@turnstream/protocol";
import { LogEntry } from "../../log/entry.ts";
import type { InvalidCursorReason } from "../../log/log.ts";
import type { Backend } from "../../session/backend.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import { PAGE_ENTRIES } from "../subscription/replay-page.ts";
import type { EntryBuffer } from "./entry-buffer.ts";

/** What of a feed this needs. */
export interface CatchUpSource {
  readonly ref: SessionRef;
  readonly parts: Backend;
  readonly head: Position;
  /** Null while it doesn't follow the log. */
  readonly held: EntryBuffer | null;
}

/** A longer gap is read by everybody for themselves, page by page. */
const MAX_GAP = 4_096;
const GAP_PAGE = 1_000;

export class CatchUpReader {
  readonly #feed: CatchUpSource;
  #filling: Promise<boolean> | null = null;

  constructor(feed: CatchUpSource) {
    this.#feed = feed;
  }

  /** A page at most; or what is wrong with the position. */
  async readAfter(
    position: Position,
    limit = PAGE_ENTRIES,
  ): Promise<readonly LogEntry[] | InvalidCursorReason> {
    const { parts, ref } = this.#feed;
    const known = this.#feed.held?.entriesAfter(position, limit) ?? (await this.#reachBack(position, limit));
    if (known !== null) return known;
    const page = await parts.log.read(ref.session, { after: formatCursor(position), limit });
    if (page.ok) return page.entries.filter(({ seq }) => seq <= this.#feed.head.seq);
    if (page.reason !== "missing" && page.reason !== "ahead") return page.reason;
    // While there is no log, what is archived is a good place.
    const { archived } = await parts.store.archive.header(ref);
    return archived === formatCursor(position) ? [] : page.reason;
  }

  /** The same out of the archive where the log no longer reaches: a turn may be trimmed while somebody reads it. */
  async readAfterWithArchive(position: Position): Promise<readonly LogEntry[] | null> {
    const entries = await this.readAfter(position);
    if (typeof entries !== "string") return entries;
    const { parts, ref, head } = this.#feed;
    return readArchivedEntries(parts.store, ref, position, { upTo: head, limit: PAGE_ENTRIES });
  }

  async #reachBack(position: Position, limit: number): Promise<readonly LogEntry[] | null> {
    while (true) {
      const { held } = this.#feed;
      const known = held?.entriesAfter(position, limit) ?? null;
      if (held === null || known !== null || !isNear(held, position)) return known;
      if (this.#filling !== null) {
        // What another one reads may be enough.
        await this.#filling.catch(() => false);
        continue;
      }
      this.#filling = this.#fill(held, position).finally(() => (this.#filling = null));
      if (!(await this.#filling)) return null;
    }
  }

  /** @returns whether what lies between the position and what is held is held now too */
  async #fill(held: EntryBuffer, position: Position): Promise<boolean> {
    const { parts, ref } = this.#feed;
    const gap: LogEntry[] = [];
    let last = position;
    let bytes = 0;
    while (last.seq < held.base.seq) {
      const page = await parts.log.read(ref.session, { after: formatCursor(last), limit: GAP_PAGE });
      const next = page.ok ? page.entries.at(-1) : undefined;
      if (!page.ok || next === undefined) return false;
      for (const entry of page.entries) bytes += entry.size;
      if (bytes > held.room) return false;
      gap.push(...page.entries);
      last = next;
    }
    return this.#feed.held === held && held.prepend(position, gap);
  }
}

function isNear({ base }: EntryBuffer, { seq }: Position): boolean {
  return seq < base.seq && base.seq - seq <= MAX_GAP;
}

/**
 * Entries that the log no longer has, from the archive: for viewers who begin with a turn that was archived and trimmed.
 * Only from a position that the archive has for itself: one of a lost timeline is none. Reads only.
 */
/** Who wrote it is not in the archive. */
const KEY = "archive:0";

/** @returns at least one entry, or null when there is none to be had */
export async function readArchivedEntries(
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
    const at = parseCursor(id);
    return at === null || comparePositions(at, upTo) > 0
      ? []
      : [new LogEntry(at.epoch, at.seq, `${KEY} ${JSON.stringify(event)}`)];
  });
  return entries.length === 0 ? null : entries;
}
