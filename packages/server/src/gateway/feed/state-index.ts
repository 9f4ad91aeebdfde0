/**
 * `StateIndex` returns the folded state of a session at any position of its log, from a nearby checkpoint or from the
 * archive.
 * Invariant: states lack older ended turns. Before these turns are read from the archive, `isTrimmedStateArchived`
 * must be true. Long folds run in slices, and once for all callers with the same position. A fold that started before
 * `clear` must not add checkpoints afterwards, because they may belong to another timeline.
 */
import {
  comparePositions,
  emptyState,
  type SessionEvent,
  fold,
  foldAll,
  formatCursor,
  parseCursor,
  type Position,
  type SessionState,
} from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { InvalidCursorReason } from "../../log/log.ts";
import { mergeRuns } from "../../log/raw-deltas.ts";
import { readCheckpoint } from "../../session/history/archived-state.ts";
import { foldTo } from "../../session/history/fold-to.ts";
import { trimState } from "../../session/history/trim-state.ts";
import type { SessionRef } from "../../util/refs.ts";
import { PromiseCache } from "../../util/promise-cache.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { EntryBuffer } from "./entry-buffer.ts";

/** Larger numbers of entries are folded in slices. */
const MAX_ENTRIES_AT_ONCE = 500;
const SHARE_MS = 1_000;
/** Minimum number of events between two checkpoints. */
const MIN_DISTANCE = 48;

interface LoadedTurn {
  readonly base: SessionState;
  readonly head: SessionState;
}

export class StateIndex {
  readonly #context: FeedContext;
  readonly #ref: SessionRef;
  #checkpoints = new StateCheckpoints();
  /** The last seq at which ended turns were dropped from a state. Only the archive has them afterwards. */
  #trimmedAt = 0;
  /** The archived seq as of the last query. */
  #archivedUpTo = 0;
  #loading: Promise<LoadedTurn> | null = null;
  readonly #cache = new PromiseCache<SessionState | InvalidCursorReason>(SHARE_MS);

  constructor(context: FeedContext, ref: SessionRef) {
    this.#context = context;
    this.#ref = ref;
  }

  /** Number of states in memory. */
  get size(): number {
    return this.#checkpoints.size + this.#cache.size;
  }

  /** Returns true if the turns that states have dropped are archived unchanged. */
  async isTrimmedStateArchived(): Promise<boolean> {
    const to = this.#trimmedAt;
    if (to <= this.#archivedUpTo) return true;
    const { archived } = await this.#context.store.archive.header(this.#ref);
    this.#archivedUpTo = parseCursor(archived)?.seq ?? 0;
    return to <= this.#archivedUpTo;
  }

  /** Folds an event of the live state and adds checkpoints. */
  fold(
    before: SessionState,
    event: SessionEvent,
  ): { readonly before: SessionState; readonly after: SessionState } {
    const from = this.#checkpoints.beforeEvent(before, event);
    if (from !== before) this.#noteTrimmed(before);
    const after = fold(from, event);
    this.#checkpoints.afterEvent(after);
    return { before: from, after };
  }

  at(position: Position, buffer: EntryBuffer | null): Promise<SessionState | InvalidCursorReason> {
    return this.#cache.get(formatCursor(position), performance.now(), () => this.#find(position, buffer));
  }

  /** Returns the state directly before the newest turn started, as of a position. */
  async stateBeforeLastTurn(head: Position, buffer: EntryBuffer | null): Promise<SessionState> {
    const state = await this.at(head, buffer);
    const start = typeof state === "string" ? 0 : (state.turns.last()?.start ?? 0);
    // Turns without checkpoints have started since.
    if ((this.#checkpoints.base?.seq ?? start) < start - 1) {
      this.clear();
      await this.at(head, buffer);
    }
    return this.#checkpoints.base ?? emptyState;
  }

  /** Trims the state of a session without a running turn. */
  trim(state: SessionState): SessionState {
    const trimmed = trimState(state);
    if (trimmed !== state) this.#noteTrimmed(state);
    return trimmed;
  }

  clear(): void {
    // Use a new object: a fold that still runs for the old one must not add states of another timeline.
    this.#checkpoints = new StateCheckpoints();
    this.#loading = null;
    this.#cache.clear();
  }

  #noteTrimmed({ seq }: Position): void {
    this.#trimmedAt = Math.max(this.#trimmedAt, seq);
  }

  async #find(position: Position, buffer: EntryBuffer | null): Promise<SessionState | InvalidCursorReason> {
    if (position.seq === 0) return emptyState;
    const checkpoints = this.#checkpoints;
    const loaded =
      checkpoints.size > 0
        ? null
        : await (this.#loading ??= this.#loadLastTurn(checkpoints, buffer?.head ?? position));
    if (loaded !== null && comparePositions(loaded.head, position) === 0) return loaded.head;
    const nearest = checkpoints.findNearest(position);
    if (nearest !== null && comparePositions(nearest, position) === 0) return nearest;
    const between = nearest === null ? null : (buffer?.entriesAfter(nearest, MAX_ENTRIES_AT_ONCE) ?? null);
    if (nearest !== null && between !== null) {
      const found = await this.#context.slices.run(() => foldUpTo(nearest, between, position));
      if (found !== null) return found;
    }
    // The position is in a turn before the checkpoints. No nearer state is known, so fold from the start.
    const fallback =
      loaded !== null && comparePositions(loaded.base, position) <= 0 ? loaded.base : emptyState;
    return foldTo(this.#context, this.#ref, nearest ?? fallback, {
      upTo: position,
      toEvents,
      run: this.#context.slices.run,
    });
  }

  /**
   * Folds the newest turn once and adds checkpoints. Clients that reconnect usually need a position near one of them.
   * @returns the states before the turn and at its end
   */
  async #loadLastTurn(target: StateCheckpoints, head: Position): Promise<LoadedTurn> {
    try {
      const checkpoints = new StateCheckpoints();
      const base = await readCheckpoint(this.#context, this.#ref);
      checkpoints.reset(base);
      if (comparePositions(base, head) > 0) return { base, head: base };
      const found = await foldTo(this.#context, this.#ref, base, {
        upTo: head,
        toEvents,
        run: this.#context.slices.run,
        onStep: (before, event, after) => {
          if (checkpoints.beforeEvent(before, event) !== before) this.#noteTrimmed(before);
          checkpoints.afterEvent(after);
        },
      });
      if (typeof found === "string") return { base, head: base };
      if (target.size === 0) target.replaceWith(checkpoints);
      return { base, head: found };
    } finally {
      if (target === this.#checkpoints) this.#loading = null;
    }
  }
}

function foldUpTo(from: SessionState, entries: readonly LogEntry[], position: Position): SessionState | null {
  const needed = entries.filter((entry) => comparePositions(entry, position) <= 0);
  const state = foldAll(toEvents(needed), from);
  return comparePositions(state, position) === 0 ? state : null;
}

/** Merges as many deltas as may lie between two checkpoints. Folding many deltas together is as cheap as folding one. */
function toEvents(entries: readonly LogEntry[]): readonly SessionEvent[] {
  const events = mergeRuns(entries, { maxLength: Infinity, maxEvents: MIN_DISTANCE });
  for (const entry of entries) entry.releaseParsed();
  return events;
}

/**
 * `StateCheckpoints` holds states of a session at some positions of its newest turns. The state at any position there
 * then takes only a few folds. The states share most of their data. Does not read.
 */
export class StateCheckpoints {
  /** In ascending order. The first state of a turn is directly before its start. */
  #states: SessionState[] = [];
  /** Index of the newest turn's first state. The states before it belong to the previous turn. */
  #turnStart = 0;

  /** The state directly before the newest turn started, or null if it is unknown. */
  get base(): SessionState | null {
    return this.#states[this.#turnStart] ?? null;
  }

  get size(): number {
    return this.#states.length;
  }

  /** @returns the state to fold the event into; trimmed if a turn starts */
  beforeEvent(state: SessionState, event: SessionEvent): SessionState {
    if (event.type !== "turn.start") return state;
    const trimmed = trimState(state);
    // Keep the previous turn too, for clients that lost their connection just before its end and reconnect a little
    // later.
    this.#states = this.#states.slice(this.#turnStart);
    this.#turnStart = this.#states.length;
    this.#states.push(trimmed);
    return trimmed;
  }

  afterEvent(state: SessionState): void {
    const last = this.#states.at(-1);
    if (last !== undefined && state.seq - last.seq >= MIN_DISTANCE) this.#states.push(state);
  }

  /** Takes over the states of another instance. */
  replaceWith(other: StateCheckpoints): void {
    this.#states = other.#states;
    this.#turnStart = other.#turnStart;
  }

  /** Starts with a state directly before a turn. */
  reset(base: SessionState): void {
    this.#states = [base];
    this.#turnStart = 0;
  }

  /** Returns the newest state at or before a position, or null if there is none. */
  findNearest(position: Position): SessionState | null {
    return this.#states.findLast((state) => comparePositions(state, position) <= 0) ?? null;
  }
}
