/**
 * `archiveSession` moves events from the log into the archive: merged events, changed turns, the session header and the
 * archived position, in one commit per step.
 *
 * Invariants: repeating a step, or running it concurrently, changes nothing. `trimLog` removes only archived events
 * from the log.
 */
import {
  type Cursor,
  type SessionEvent,
  fold,
  formatCursor,
  parseCursor,
  comparePositions,
  type Position,
  SCHEMA_VERSION,
  START_CURSOR,
  type SessionState,
  snapshot,
  findTurn,
} from "@turnstream/protocol";
import { LogError } from "../../log/errors.ts";
import type { LogPage } from "../../log/log.ts";
import { mergeDeltas } from "../../log/raw-deltas.ts";
import type { ArchiveBatch, ArchivedTurn, ArchiveResult } from "../../store/archive.ts";
import type { NewJournalEntry } from "../../store/journal.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { archivedTurn, hasPendingInteractions } from "../../store/archive.ts";
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
   * The position that `commit` and `journal` depend on. They are skipped if the log ends before it, because entries were
   * lost.
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
  const { step = STEP, atLeast } = options;
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
        if (isCommitted) await commitAlone(backend.store, ref, state, options);
        return { cursor, state, events, isBlocked: false, isCommitted };
      }
      const merged = mergeDeltas(entries);
      const { state: next, checkpoint } = foldEvents(state, merged);
      const isLast = !page.more || entries.length < page.entries.length;
      isCommitted = isLast && isThere(next);
      const result = await writeWith(
        backend.store,
        ref,
        batchOf(state, next, { ...page, entries }, merged, checkpoint),
        isCommitted ? { commit: options.commit, entries: options.journal?.(next) } : {},
      );
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

async function commitAlone(
  store: Store,
  ref: SessionRef,
  archived: SessionState,
  { commit, journal }: Pick<ArchiveOptions, "commit" | "journal">,
): Promise<void> {
  const entries = journal?.(archived) ?? [];
  const write = async (to: Store): Promise<void> => {
    if (entries.length > 0) await to.journal.write(ref, ...entries);
    await commit?.(to);
  };
  await (commit === undefined ? write(store) : store.transaction(write));
}

async function writeWith(
  store: Store,
  ref: SessionRef,
  events: ArchiveBatch,
  {
    commit,
    entries,
  }: { commit?: ArchiveOptions["commit"]; entries?: readonly NewJournalEntry[] | undefined },
): Promise<ArchiveResult> {
  const batch = entries === undefined ? events : { ...events, journal: entries };
  if (commit === undefined) return store.archive.write(ref, batch);
  return store.transaction(async (tx) => {
    const result = await tx.archive.write(ref, batch);
    if (typeof result !== "object") await commit(tx);
    return result;
  });
}

/** Removes archived events from a log with more than `keep` events. @returns true if it trimmed the log */
export async function trimLog(
  { store, log }: Backend,
  ref: SessionRef,
  options: { keep?: number } = {},
): Promise<boolean> {
  const head = await log.head(ref);
  const last = head === null ? null : parseCursor(head.last);
  const base = head === null ? null : parseCursor(head.base);
  if (last === null || base === null || last.seq - base.seq <= (options.keep ?? 0)) return false;
  const { archived } = await store.archive.header(ref);
  return log.trim(ref, archived);
}

interface Folded {
  readonly state: SessionState;
  /** The state right before the last turn in the entries started; null if none started. */
  readonly checkpoint: SessionState | null;
}

function foldEvents(from: SessionState, events: readonly SessionEvent[]): Folded {
  let [state, checkpoint]: [SessionState, SessionState | null] = [from, null];
  for (const event of events) {
    if (event.type === "turn.start") checkpoint = state;
    state = fold(state, event);
  }
  return { state, checkpoint };
}

function batchOf(
  before: SessionState,
  after: SessionState,
  { epoch, entries }: Pick<LogPage, "epoch" | "entries">,
  events: readonly SessionEvent[],
  checkpoint: SessionState | null,
) {
  const { turns: _, ...header } = after;
  return {
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
}

/** @param before the archived state, at least with every turn that the batch changes and does not start */
export function changedTurns(before: SessionState, after: SessionState): ArchivedTurn[] {
  return after.turns.toArray().flatMap((turn) => {
    const known = findTurn(before, turn.id);
    if (turn === known) return [];
    const row = archivedTurn(turn);
    const isSame =
      known !== undefined &&
      row.snapshot === null &&
      known.status === turn.status &&
      hasPendingInteractions(known) === row.open;
    return isSame ? [] : [row];
  });
}
