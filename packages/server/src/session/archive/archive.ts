/**
 * Moves what the log holds into the archive: coalesced events, the turns they changed, the folded header and the
 * archived position, in one commit per step. Whoever repeats a step, or does it beside somebody else, changes
 * nothing. The log is trimmed only up to what is archived.
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
  type Turn,
} from "@turnstream/protocol";
import { coalesce, turnSnapshot } from "@turnstream/protocol/writer";
import type { LogEntry } from "../../log/entry.ts";
import { LogError } from "../../log/errors.ts";
import type { LogPage } from "../../log/log.ts";
import type { ArchiveBatch, ArchivedTurn, ArchiveResult } from "../../store/ports/archive.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import { readArchivedState } from "../history/archived-state.ts";
import { outboxKeyOf } from "./relay-outbox.ts";
import type { Backend } from "../backend.ts";
import { hasPendingInteractions, trimState } from "../history/trim-state.ts";

export interface ArchiveOptions {
  /** How far to go; by default to the end. */
  readonly upTo?: Cursor;
  /** How many events one step takes. */
  readonly step?: number;
  /**
   * Done in the commit of the last write, or in one of its own when there is nothing to write: what stands on these
   * events is then as durable as they are. Not called when nothing can be archived: the log is lost, or being taken
   * over. If it throws, that write isn't done either.
   */
  readonly commit?: (tx: Store) => Promise<void>;
  /** What `commit` stands on: it isn't called when the log ends before this, because entries were lost. */
  readonly atLeast?: Position;
}

export interface ArchiveSessionResult {
  readonly cursor: Cursor;
  /** How many events this call wrote. */
  readonly events: number;
  /** Somebody is taking the session over: the rest can be archived once the log is claimed. */
  readonly isBlocked: boolean;
}

/** Folding goes on from the newest turn, and from older ones with an open form or payment. */
const TURNS = 1;
const STEP = 2_000;
const MAX_TRIES = 8;

export interface IncrementalArchiveResult extends ArchiveSessionResult {
  /** What is archived, folded as far as this call knows; null when it knows nothing. */
  readonly state: SessionState | null;
}

/** Archives what is in the log now, or up to a position; what comes meanwhile is left to the next call. */
export async function archiveSession(
  backend: Backend,
  ref: SessionRef,
  options: ArchiveOptions = {},
): Promise<ArchiveSessionResult> {
  const { state: _, ...archived } = await archiveIncrementally(backend, ref, null, options);
  return archived;
}

/**
 * The same for whoever archives again and again.
 * @param known what the call before gave as `state`; what is archived is then read only where it has moved on since
 */
export async function archiveIncrementally(
  backend: Backend,
  ref: SessionRef,
  known: SessionState | null,
  options: ArchiveOptions = {},
): Promise<IncrementalArchiveResult> {
  const { step = STEP, atLeast } = options;
  const isThere = (at: Position): boolean => atLeast === undefined || comparePositions(at, atLeast) >= 0;
  const last = options.upTo ?? (await backend.log.head(ref.session))?.last ?? START_CURSOR;
  const end = parseCursor(last);
  if (end === null) throw new LogError("INVALID", { detail: "`upTo` is not a cursor" });
  let events = 0;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    let state = (tries === 0 ? known : null) ?? (await readArchivedState(backend.store, ref, TURNS));
    while (true) {
      const cursor = formatCursor(state);
      const page = await backend.log.read(ref.session, { after: cursor, limit: step });
      if (!page.ok) {
        // Somebody else may have archived since the caller knew it, and the log have been trimmed or begun anew there.
        if (page.reason === "trimmed" || state === known) break;
        // The log was lost, and with it what was delivered to it and not archived.
        await backend.store.outbox.reopen(ref);
        return { cursor, state, events, isBlocked: false };
      }
      const entries = page.entries.filter((entry) => comparePositions(entry, end) <= 0);
      if (entries.length === 0) {
        if (options.commit !== undefined && isThere(state)) await backend.store.transaction(options.commit);
        return { cursor, state, events, isBlocked: false };
      }
      const { state: next, checkpoint } = foldEntries(state, entries);
      const isLast = !page.more || entries.length < page.entries.length;
      const result = await writeWith(
        backend.store,
        ref,
        batchOf(state, next, { ...page, entries }, checkpoint),
        isLast && isThere(next) ? options.commit : undefined,
      );
      if (typeof result === "object") {
        if ("behind" in result) return { cursor, state, events, isBlocked: true };
        // Somebody else has archived meanwhile: begin again from what is there now.
        break;
      }
      if (result === "written") events += entries.length;
      state = next;
      if (isLast) return { cursor: formatCursor(state), state, events, isBlocked: false };
    }
  }
  const { archived } = await backend.store.archive.header(ref);
  return { cursor: archived, state: null, events, isBlocked: false };
}

async function writeWith(
  store: Store,
  ref: SessionRef,
  batch: ArchiveBatch,
  commit: ArchiveOptions["commit"],
): Promise<ArchiveResult> {
  if (commit === undefined) return store.archive.write(ref, batch);
  return store.transaction(async (tx) => {
    const result = await tx.archive.write(ref, batch);
    if (typeof result !== "object") await commit(tx);
    return result;
  });
}

/** Drops archived events from a log that has grown long. @returns whether it did */
export async function trimLog(
  { store, log }: Backend,
  ref: SessionRef,
  options: { keep?: number } = {},
): Promise<boolean> {
  const head = await log.head(ref.session);
  const last = head === null ? null : parseCursor(head.last);
  const base = head === null ? null : parseCursor(head.base);
  if (last === null || base === null || last.seq - base.seq <= (options.keep ?? 0)) return false;
  const { archived } = await store.archive.header(ref);
  return log.trim(ref.session, archived);
}

interface Folded {
  readonly state: SessionState;
  /** Right before the last turn among the entries began; null when none did. */
  readonly checkpoint: SessionState | null;
}

function foldEntries(from: SessionState, entries: readonly LogEntry[]): Folded {
  let [state, checkpoint]: [SessionState, SessionState | null] = [from, null];
  for (const { event } of entries) {
    if (event.type === "turn.start") checkpoint = state;
    state = fold(state, event);
  }
  return { state, checkpoint };
}

function batchOf(
  before: SessionState,
  after: SessionState,
  { epoch, entries }: Pick<LogPage, "epoch" | "entries">,
  checkpoint: SessionState | null,
) {
  const { turns, ...header } = after;
  const known = new Set(before.turns);
  const events: SessionEvent[] = coalesce(entries.map((entry) => entry.event));
  return {
    from: formatCursor(before),
    to: formatCursor(after),
    epoch,
    events,
    turns: turns
      .toArray()
      .filter((turn) => !known.has(turn))
      .map(archivedTurn),
    header,
    v: SCHEMA_VERSION,
    ...(checkpoint === null ? {} : { checkpoint: snapshot(trimState(checkpoint)) }),
    delivered: [...new Set(entries.flatMap((entry) => outboxKeyOf(entry.key) ?? []))],
  };
}

function archivedTurn(turn: Turn): ArchivedTurn {
  return { snapshot: turnSnapshot(turn), open: hasPendingInteractions(turn) };
}
