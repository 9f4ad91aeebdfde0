/** Everybody who is live in a session with the same choice: what comes is encoded once for them, and given to each. */
import type { Position, SessionState } from "@turnstream/protocol";
import type { LogEntry } from "../log/entry.ts";
import {
  bytesOfEntries,
  bytesOfFrames,
  framesOfEvent,
  needsState,
  type Remembered,
  type Telling,
} from "./encoding.ts";
import type { Seat } from "./seat.ts";

export class LiveGroup {
  readonly seats = new Set<Seat>();
  readonly isFolded: boolean;
  readonly #telling: Telling;
  #remembered: Remembered;

  constructor(telling: Telling, remembered: Remembered) {
    this.#telling = telling;
    this.#remembered = remembered;
    this.isFolded = needsState(telling.choice);
  }

  /** @param states before and after each entry, in pairs */
  deliver(
    entries: readonly LogEntry[],
    states: readonly SessionState[],
    to: Position,
    ended: string | null,
  ): void {
    const bytes = this.isFolded ? this.#encode(entries, states) : bytesOfEntries(this.#telling, entries);
    for (const seat of this.seats) seat.piece(bytes, to, ended);
  }

  #encode(entries: readonly LogEntry[], states: readonly SessionState[]): Buffer | null {
    const { choice } = this.#telling;
    let all: readonly object[] = [];
    for (let n = 0; n < entries.length; n++) {
      const { event } = entries[n] as LogEntry;
      const [before, after] = [states[2 * n] as SessionState, states[2 * n + 1] as SessionState];
      const { frames, remembered } = framesOfEvent(choice, this.#remembered, event, before, after);
      this.#remembered = remembered;
      all = all.length === 0 ? frames : all.concat(frames);
    }
    return bytesOfFrames(this.#telling, all);
  }
}
