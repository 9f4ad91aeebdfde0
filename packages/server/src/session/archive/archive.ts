/**
 * `archiveSession` moves events from the log into the archive: merged events, changed turns, the session header and the
 * archived position, in one commit per step. Repeating a step, or running it concurrently, changes nothing.
 */
import {
  type Cursor,
  fold,
  formatCursor,
  parseCursor,
  comparePositions,
  type Position,
  SCHEMA_VERSION,
  START_CURSOR,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import { LogError } from "../../log/errors.ts";
import { mergeDeltas } from "../../log/raw-deltas.ts";
import { type ArchiveBatch, type ArchiveResult, changedTurns } from "../../store/archive.ts";
import type { NewJournalEntry } from "../../store/journal.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { readArchivedState } from "../history/archived-state.ts";
import { outboxKeyOf } from "./relay-outbox.ts";
import type { Backend } from "../backend.ts";
import { trimState } from "../history/trim-state.ts";

export interface ArchiveOptions {
  /** Archive up to this cursor. Default: the end of the log. */
  readonly upTo?: Cursor;
  /** How many events one step archives. @default 2000 */
  readonly step?: number;
  /**
   * Runs in the transaction of the last write, or in its own if there is nothing to write. Its writes are then as
   * durable as the events that they depend on. Not called if nothing can be archived, because the log is lost or being
   * taken over. If it throws, the last write is rolled back.
   */
  readonly commit?: (tx: Store) => Promise<void>;
  /**
   * Returns journal entries to write like `commit`. Without `commit`, they need no transaction: the write has them too.
   * @param archived the state that is archived in the same commit
   */
  readonly journal?: (archived: SessionState) => readonly NewJournalEntry[];
  /**
   * The position that `commit` and `journal` depend on. They are skipped if the log ends before it, because entries
   * were lost.
   */
  readonly atLeast?: Position;
}

export interface ArchiveSessionResult {
  readonly cursor: Cursor;
  /** How many events this call archived. */
  readonly events: number;
  /** True if a takeover is in progress. The rest can be archived after the log is claimed. */
  readonly isBlocked: boolean;
}

/** Folding continues from the newest turn, and from older turns with an open request. */
const TURNS = 1;
const STEP = 2_000;
const MAX_TRIES = 8;

export interface IncrementalArchiveResult extends ArchiveSessionResult {
  /** The archived state, or null if this call doesn't know it. */
  readonly state: SessionState | null;
  /** True if `commit` and `journal` were committed. */
  readonly isCommitted: boolean;
}

/** Archives the log up to its current end or `upTo`. Events that arrive during the call are left to the next one. */
export async function archiveSession(
  backend: Backend,
  ref: SessionRef,
  options: ArchiveOptions = {},
): Promise<ArchiveSessionResult> {
  const { state: _, isCommitted: __, ...archived } = await archiveIncrementally(backend, ref, null, options);
  return archived;
}

/**
 * Like `archiveSession`, for callers that archive repeatedly.
 * @param known `state` of the previous call. The archive is then read again only if it has advanced since
 */
export async function archiveIncrementally(
  backend: Backend,
  ref: SessionRef,
  known: SessionState | null,
  options: ArchiveOptions = {},
): Promise<IncrementalArchiveResult> {
  const { step = STEP, atLeast, commit, journal } = options;
  const isThere = (at: Position): boolean => atLeast === undefined || comparePositions(at, atLeast) >= 0;
  const last = options.upTo ?? (await backend.log.head(ref))?.last ?? START_CURSOR;
  const end = parseCursor(last);
  if (end === null) throw new LogError("INVALID", { detail: "`upTo` must be a cursor" });
  let [events, isCommitted] = [0, false];
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    let state = (tries === 0 ? known : null) ?? (await readArchivedState(backend.store, ref, TURNS));
    while (true) {
      const cursor = formatCursor(state);
      const page = await backend.log.read(ref, { after: cursor, limit: step });
      if (!page.ok) {
        // Another process may have archived since, and the log may have been trimmed or restarted there.
        if (page.reason === "trimmed" || state === known) break;
        // The log was lost, including outbox events that were published but not archived.
        await backend.store.outbox.reopen(ref);
        return { cursor, state, events, isBlocked: false, isCommitted };
      }
      const entries = page.entries.filter((entry) => comparePositions(entry, end) <= 0);
      if (entries.length === 0) {
        isCommitted = isThere(state);
        if (isCommitted) await write(backend.store, ref, null, { commit, entries: journal?.(state) });
        return { cursor, state, events, isBlocked: false, isCommitted };
      }
      const { after: next, batch } = foldEntries(state, page.epoch, entries);
      const isLast = !page.more || entries.length < page.entries.length;
      isCommitted = isLast && isThere(next);
      const more = isCommitted ? { commit, entries: journal?.(next) } : {};
      const result = await write(backend.store, ref, batch, more);
      if (typeof result === "object") {
        isCommitted = false;
        if ("behind" in result) return { cursor, state, events, isBlocked: true, isCommitted };
        // Another process archived at the same time: restart from the current archive.
        break;
      }
      if (result === "written") events += entries.length;
      state = next;
      if (isLast) return { cursor: formatCursor(state), state, events, isBlocked: false, isCommitted };
    }
  }
  const { archived } = await backend.store.archive.header(ref);
  return { cursor: archived, state: null, events, isBlocked: false, isCommitted: false };
}

interface Write {
  readonly commit?: ArchiveOptions["commit"] | undefined;
  readonly entries?: readonly NewJournalEntry[] | undefined;
}

/** Writes events, if there are any, with journal entries. With `commit`, all of it is one transaction. */
async function write(
  store: Store,
  ref: SessionRef,
  batch: ArchiveBatch | null,
  { commit, entries = [] }: Write,
): Promise<ArchiveResult> {
  const writeTo = async (to: Store): Promise<ArchiveResult> => {
    if (batch !== null)
      return to.archive.write(ref, entries.length === 0 ? batch : { ...batch, journal: entries });
    if (entries.length > 0) await to.journal.write(ref, ...entries);
    return "written";
  };
  if (commit === undefined) return writeTo(store);
  return store.transaction(async (tx) => {
    const result = await writeTo(tx);
    if (typeof result !== "object") await commit(tx);
    return result;
  });
}

/** Folds entries into a state. @returns the state after them, and what is archived of them */
function foldEntries(
  before: SessionState,
  epoch: number,
  entries: readonly LogEntry[],
): { readonly after: SessionState; readonly batch: ArchiveBatch } {
  const events = mergeDeltas(entries);
  let after = before;
  /** The state right before the last turn in the entries started. */
  let checkpoint: SessionState | null = null;
  for (const event of events) {
    if (event.type === "turn.start") checkpoint = after;
    after = fold(after, event);
  }
  const { turns: _, ...header } = after;
  const batch = {
    from: formatCursor(before),
    to: formatCursor(after),
    epoch,
    events,
    turns: changedTurns(before, after),
    header,
    v: SCHEMA_VERSION,
    ...(checkpoint === null ? {} : { checkpoint: snapshot(trimState(checkpoint)) }),
    delivered: [...new Set(entries.flatMap((entry) => outboxKeyOf(entry.key) ?? []))],
  };
  return { after, batch };
}
