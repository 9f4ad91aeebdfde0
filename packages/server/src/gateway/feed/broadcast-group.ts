/** Everybody who is live in a session with the same choice: what comes is encoded once for them, and given to each. */
import type { Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import {
  bytesOf,
  bytesOfEntries,
  framesOfEvent,
  isToldPlainly,
  needsState,
  type Remembered,
  type Telling,
  textOfFrame,
  textOfSpoken,
} from "../encoding/encode.ts";
import type { Step } from "./live-state.ts";
import type { Seat } from "../subscription/controller.ts";

export class LiveGroup {
  readonly seats = new Set<Seat>();
  readonly isFolded: boolean;
  /** Deltas can be told from their text in the log. */
  readonly isPlain: boolean;
  readonly #telling: Telling;
  #remembered: Remembered;

  constructor(telling: Telling, remembered: Remembered) {
    this.#telling = telling;
    this.#remembered = remembered;
    this.isFolded = needsState(telling.choice);
    this.isPlain = isToldPlainly(telling.choice);
  }

  /** @param steps what the entries come to, for dialects that are folded */
  deliver(entries: readonly LogEntry[], steps: readonly Step[], to: Position, ended: string | null): void {
    const bytes = this.isFolded ? this.#encode(steps) : bytesOfEntries(this.#telling, entries);
    for (const seat of this.seats) seat.piece(bytes, to, ended);
  }

  #encode(steps: readonly Step[]): Buffer | null {
    const texts: string[] = [];
    for (const step of steps) {
      if ("said" in step) texts.push(textOfSpoken(this.#telling, step.head, step.said, step.cursor));
      else for (const frame of this.#framesOf(step)) texts.push(textOfFrame(this.#telling, frame));
    }
    return bytesOf(this.#telling, texts);
  }

  #framesOf({ event, before, after }: Exclude<Step, { said: string }>): readonly object[] {
    const { choice } = this.#telling;
    const { frames, remembered } = framesOfEvent(choice, this.#remembered, event, before, after);
    this.#remembered = remembered;
    return frames;
  }
}
