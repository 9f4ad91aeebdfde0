/**
 * Everything that was ever written to one log, what was lost later included: the events between two positions, and the
 * session as it was at any of them. Knows no gateway.
 */
import { emptyState, type SessionEvent, fold, type SessionState, START_CURSOR } from "@turnstream/protocol";
import type { ScheduledEngine } from "../log/scheduled-engine.ts";

export class LogHistory {
  readonly #engine: ScheduledEngine;
  readonly #states = new Map<string, SessionState>([[START_CURSOR, emptyState]]);

  constructor(engine: ScheduledEngine) {
    this.#engine = engine;
  }

  /** The position right before. */
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

  /** What was written after one position, up to the other; null when the one doesn't lead to the other. */
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
