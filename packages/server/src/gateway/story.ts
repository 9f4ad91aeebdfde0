/**
 * States of a session at some positions of its newest turns, so that the state at any position of them is a few folds away.
 * They share nearly everything with each other. Pure bookkeeping: never reads.
 */
import { comparePositions, type Event, type Position, type SessionState } from "@turnstream/protocol";
import { slimState } from "../session/history/trim-state.ts";

/** How many events lie between two of them, at least. */
const EVERY = 48;

export class Story {
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
  before(state: SessionState, event: Event): SessionState {
    if (event.type !== "turn.start") return state;
    const slim = slimState(state);
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
  take(other: Story): void {
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
