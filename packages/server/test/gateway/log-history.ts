/**
 * `LogHistory` contains everything ever written to one log, including lost entries. It returns the events between two
 * positions and the state at any position.
 */
import { emptyState, type SessionEvent, fold, type SessionState, START_CURSOR } from "@turnstream/protocol";
import type { ScheduledEngine } from "../log/scheduled-engine.ts";

export class LogHistory {
  readonly #engine: ScheduledEngine;
  readonly #states = new Map<string, SessionState>([[START_CURSOR, emptyState]]);

  constructor(engine: ScheduledEngine) {
    this.#engine = engine;
  }

  /** The position directly before. */
  before(cursor: string): string {
    const { seq } = this.stateAt(cursor);
    return this.#engine.before.get(cursor) ?? (seq <= 1 ? START_CURSOR : fail(`nothing is before ${cursor}`));
  }

  eventAt(cursor: string): SessionEvent {
    return this.#engine.written.get(cursor)?.event ?? fail(`${cursor} was never written`);
  }

  stateAt(cursor: string): SessionState {
    const known = this.#states.get(cursor);
    if (known !== undefined) return known;
    const event = this.eventAt(cursor);
    const state = fold(this.stateAt(this.#engine.before.get(cursor) ?? START_CURSOR), event);
    this.#states.set(cursor, state);
    return state;
  }

  /**
   * The events after one position up to another, or null if the first is not before the second in the same timeline.
   */
  between(after: string, upTo: string): SessionEvent[] | null {
    const events: SessionEvent[] = [];
    for (let at = upTo; at !== after; at = this.before(at)) {
      if (at === START_CURSOR) return null;
      events.push(this.eventAt(at));
    }
    return events.toReversed();
  }
}

function fail(problem: string): never {
  throw new Error(problem);
}
