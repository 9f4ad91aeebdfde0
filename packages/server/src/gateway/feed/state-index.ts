/**
 * `StateIndex` finds the folded state of a session at any position of its log: from a checkpoint near by, or from the
 * archive. Reads what it must, in small pieces, and once for all that ask for the same position.
 */
import {
  comparePositions,
  emptyState,
  type SessionEvent,
  fold,
  formatCursor,
  parseCursor,
  type Position,
  type SessionState,
} from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { InvalidCursorReason } from "../../log/log.ts";
import { readCheckpoint } from "../../session/history/archived-state.ts";
import { foldTo } from "../../session/history/fold-to.ts";
import { trimState } from "../../session/history/trim-state.ts";
import type { SessionRef } from "../../store/refs.ts";
import { PromiseCache } from "../../util/promise-cache.ts";
import type { FeedContext } from "../subscription/feed-context.ts";
import type { EntryBuffer } from "./entry-buffer.ts";

/** More are folded in pieces. */
const MAX_ENTRIES_AT_ONCE = 500;
const SHARE_MS = 1_000;
/** Events between two checkpoints, at least. */
const MIN_DISTANCE = 48;

interface LoadedTurn {
  readonly base: SessionState;
  readonly head: SessionState;
}

export class StateIndex {
  readonly #context: FeedContext;
  readonly #ref: SessionRef;
  #checkpoints = new StateCheckpoints();
  /** The last seq at which something that is over was dropped from a state: only the archive has it then. */
  #trimmedAt = 0;
  /** As far as is known. */
  #archivedUpTo = 0;
  #loading: Promise<LoadedTurn> | null = null;
  readonly #cache = new PromiseCache<SessionState | InvalidCursorReason>(SHARE_MS);

  constructor(context: FeedContext, ref: SessionRef) {
    this.#context = context;
    this.#ref = ref;
  }

  /** How many states it has in memory. */
  get size(): number {
    return this.#checkpoints.size + this.#cache.size;
  }

  /** Whether what states have dropped is archived as it was then. */
  async isTrimmedStateArchived(): Promise<boolean> {
    const to = this.#trimmedAt;
    if (to <= this.#archivedUpTo) return true;
    const { archived } = await this.#context.store.archive.header(this.#ref);
    this.#archivedUpTo = parseCursor(archived)?.seq ?? 0;
    return to <= this.#archivedUpTo;
  }

  /** Folds an event of the live state, and adds checkpoints on the way. */
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

  /** The state right before the newest turn started, as of a position. */
  async stateBeforeLastTurn(head: Position, buffer: EntryBuffer | null): Promise<SessionState> {
    const state = await this.at(head, buffer);
    const start = typeof state === "string" ? 0 : (state.turns.last()?.start ?? 0);
    // Turns without checkpoints have come since then.
    if ((this.#checkpoints.base?.seq ?? start) < start - 1) {
      this.clear();
      await this.at(head, buffer);
    }
    return this.#checkpoints.base ?? emptyState;
  }

  /** For a session in which no turn runs. */
  trim(state: SessionState): SessionState {
    const trimmed = trimState(state);
    if (trimmed !== state) this.#noteTrimmed(state);
    return trimmed;
  }

  clear(): void {
    // A new one: a fold that still runs for the old one must not bring back states of another timeline.
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
    // Of a turn before the checkpoints: folded from the start, for no nearer state is known.
    const fallback =
      loaded !== null && comparePositions(loaded.base, position) <= 0 ? loaded.base : emptyState;
    return foldTo(this.#context, this.#ref, nearest ?? fallback, {
      upTo: position,
      run: this.#context.slices.run,
    });
  }

  /**
   * Folds the newest turn once, with checkpoints on the way: clients that reconnect are near to one of them.
   * @returns the states before it and at its end
   */
  async #loadLastTurn(target: StateCheckpoints, head: Position): Promise<LoadedTurn> {
    try {
      const checkpoints = new StateCheckpoints();
      const base = await readCheckpoint(this.#context, this.#ref);
      checkpoints.reset(base);
      if (comparePositions(base, head) > 0) return { base, head: base };
      const found = await foldTo(this.#context, this.#ref, base, {
        upTo: head,
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
  let state = from;
  for (const entry of entries) {
    if (comparePositions(entry, position) > 0) break;
    state = fold(state, entry.event);
  }
  return comparePositions(state, position) === 0 ? state : null;
}

/**
 * States of a session at some positions of its newest turns, so that the state at any position of them is a few folds away.
 * They share nearly everything with each other. Pure bookkeeping: never reads.
 */
export class StateCheckpoints {
  /** Ascending. The first of a turn is right before it started. */
  #states: SessionState[] = [];
  /** Index of the newest turn's first state; those before it are of the turn before. */
  #turnStart = 0;

  /** Right before the newest turn started; null when that is not known. */
  get base(): SessionState | null {
    return this.#states[this.#turnStart] ?? null;
  }

  get size(): number {
    return this.#states.length;
  }

  /** @returns the state to fold the event into: trimmed when a turn starts */
  beforeEvent(state: SessionState, event: SessionEvent): SessionState {
    if (event.type !== "turn.start") return state;
    const trimmed = trimState(state);
    // One turn back stays too: a client that was cut off just before its end reconnects a little later.
    this.#states = this.#states.slice(this.#turnStart);
    this.#turnStart = this.#states.length;
    this.#states.push(trimmed);
    return trimmed;
  }

  afterEvent(state: SessionState): void {
    const last = this.#states.at(-1);
    if (last !== undefined && state.seq - last.seq >= MIN_DISTANCE) this.#states.push(state);
  }

  /** Takes the states of another one. */
  replaceWith(other: StateCheckpoints): void {
    this.#states = other.#states;
    this.#turnStart = other.#turnStart;
  }

  /** Starts with a state that is right before a turn. */
  reset(base: SessionState): void {
    this.#states = [base];
    this.#turnStart = 0;
  }

  /** The newest state at or before a position; null when there is none. */
  findNearest(position: Position): SessionState | null {
    return this.#states.findLast((state) => comparePositions(state, position) <= 0) ?? null;
  }
}
