/**
 * The folded state of a session at any position that its log has: from a state that is near, or from what the archive keeps.
 * Reads what it must, in small pieces, and once for all who ask for the same.
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
const AT_ONCE = 500;
const SAME_MS = 1_000;

interface Begun {
  readonly base: SessionState;
  readonly head: SessionState;
}

export class StateIndex {
  readonly #parts: FeedContext;
  readonly #ref: SessionRef;
  #story = new StateCheckpoints();
  /** The last seq at which something that is over was dropped from a state: only the archive has it then. */
  #droppedAt = 0;
  /** As far as is known. */
  #archivedTo = 0;
  #begun: Promise<Begun> | null = null;
  readonly #kept = new PromiseCache<SessionState | InvalidCursorReason>(SAME_MS);

  constructor(parts: FeedContext, ref: SessionRef) {
    this.#parts = parts;
    this.#ref = ref;
  }

  /** How many are kept. */
  get size(): number {
    return this.#story.size + this.#kept.size;
  }

  /** Whether what states have dropped is archived as it was then. */
  async isDroppedKept(): Promise<boolean> {
    const to = this.#droppedAt;
    if (to <= this.#archivedTo) return true;
    const { archived } = await this.#parts.store.archive.header(this.#ref);
    this.#archivedTo = parseCursor(archived)?.seq ?? 0;
    return to <= this.#archivedTo;
  }

  /** Folds on where somebody needs every state. */
  fold(
    before: SessionState,
    event: SessionEvent,
  ): { readonly before: SessionState; readonly after: SessionState } {
    const from = this.#story.before(before, event);
    if (from !== before) this.#dropped(before);
    const after = fold(from, event);
    this.#story.after(after);
    return { before: from, after };
  }

  at(position: Position, held: EntryBuffer | null): Promise<SessionState | InvalidCursorReason> {
    return this.#kept.get(formatCursor(position), performance.now(), () => this.#find(position, held));
  }

  /** Right before the newest turn began, as of a position. */
  async lastTurn(head: Position, held: EntryBuffer | null): Promise<SessionState> {
    const state = await this.at(head, held);
    const start = typeof state === "string" ? 0 : (state.turns.last()?.start ?? 0);
    // Turns that nobody needed the states of have come since then.
    if ((this.#story.base?.seq ?? start) < start - 1) {
      this.clear();
      await this.at(head, held);
    }
    return this.#story.base ?? emptyState;
  }

  /** For a session in which nothing runs. */
  slim(state: SessionState): SessionState {
    const slim = trimState(state);
    if (slim !== state) this.#dropped(state);
    return slim;
  }

  clear(): void {
    // A new one: who is still folding for the old one must not bring back what was of another timeline.
    this.#story = new StateCheckpoints();
    this.#begun = null;
    this.#kept.clear();
  }

  #dropped({ seq }: Position): void {
    this.#droppedAt = Math.max(this.#droppedAt, seq);
  }

  async #find(position: Position, held: EntryBuffer | null): Promise<SessionState | InvalidCursorReason> {
    if (position.seq === 0) return emptyState;
    const own = this.#story;
    const begun = own.size > 0 ? null : await (this.#begun ??= this.#begin(own, held?.head ?? position));
    if (begun !== null && comparePositions(begun.head, position) === 0) return begun.head;
    const near = own.nearest(position);
    if (near !== null && comparePositions(near, position) === 0) return near;
    const between = near === null ? null : (held?.entriesAfter(near, AT_ONCE) ?? null);
    if (near !== null && between !== null) {
      const found = await this.#parts.slices.run(() => foldUpTo(near, between, position));
      if (found !== null) return found;
    }
    // Of a turn before those that are kept: folded from the beginning, for nothing nearer was.
    const far = begun !== null && comparePositions(begun.base, position) <= 0 ? begun.base : emptyState;
    return foldTo(this.#parts, this.#ref, near ?? far, {
      upTo: position,
      run: this.#parts.slices.run,
    });
  }

  /**
   * Folds the newest turn once, and keeps some states on the way: all who come back are near to one of them.
   * @returns where it began, and what came of it
   */
  async #begin(own: StateCheckpoints, head: Position): Promise<Begun> {
    try {
      const story = new StateCheckpoints();
      const base = await readCheckpoint(this.#parts, this.#ref);
      story.begin(base);
      if (comparePositions(base, head) > 0) return { base, head: base };
      const found = await foldTo(this.#parts, this.#ref, base, {
        upTo: head,
        run: this.#parts.slices.run,
        onStep: (before, event, after) => {
          if (story.before(before, event) !== before) this.#dropped(before);
          story.after(after);
        },
      });
      if (typeof found === "string") return { base, head: base };
      if (own.size === 0) own.take(story);
      return { base, head: found };
    } finally {
      if (own === this.#story) this.#begun = null;
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
/** How many events lie between two of them, at least. */
const EVERY = 48;

export class StateCheckpoints {
  /** Ascending. The first of a turn is right before it began. */
  #marks: SessionState[] = [];
  /** Where the newest turn's are, and those of the one before. */
  #turn = 0;

  /** Right before the newest turn began; null when nobody was there. */
  get base(): SessionState | null {
    return this.#marks[this.#turn] ?? null;
  }

  get size(): number {
    return this.#marks.length;
  }

  /** @returns the state to fold the event into: without what is over and done with when a turn begins */
  before(state: SessionState, event: SessionEvent): SessionState {
    if (event.type !== "turn.start") return state;
    const slim = trimState(state);
    // One turn back is kept too: who was cut off just before its end comes back a little later.
    this.#marks = this.#marks.slice(this.#turn);
    this.#turn = this.#marks.length;
    this.#marks.push(slim);
    return slim;
  }

  after(state: SessionState): void {
    const last = this.#marks.at(-1);
    if (last !== undefined && state.seq - last.seq >= EVERY) this.#marks.push(state);
  }

  /** Goes on as another one. */
  take(other: StateCheckpoints): void {
    this.#marks = other.#marks;
    this.#turn = other.#turn;
  }

  /** Begins with a state that is right before a turn. */
  begin(base: SessionState): void {
    this.#marks = [base];
    this.#turn = 0;
  }

  /** The newest state at or before a position; null when there is none. */
  nearest(position: Position): SessionState | null {
    return this.#marks.findLast((mark) => comparePositions(mark, position) <= 0) ?? null;
  }
}
