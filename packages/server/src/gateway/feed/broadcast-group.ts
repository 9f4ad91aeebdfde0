/** Everybody who is live in a session with the same choice: what comes is encoded once for them, and given to each. */
import type { Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import {
  joinWireBytes,
  encodeEntries,
  encodeEvent,
  supportsRawDeltas,
  needsFoldedState,
  type EncoderState,
  type EncodingTarget,
  frameText,
  rawDeltaFrame,
} from "../encoding/encode.ts";
import type { LiveChange } from "./live-state.ts";
import type { SubscriptionController } from "../subscription/subscription-controller.ts";

export class BroadcastGroup {
  readonly subscribers = new Set<SubscriptionController>();
  readonly isFolded: boolean;
  /** Deltas can be told from their text in the log. */
  readonly isPlain: boolean;
  readonly #telling: EncodingTarget;
  #remembered: EncoderState;

  constructor(telling: EncodingTarget, remembered: EncoderState) {
    this.#telling = telling;
    this.#remembered = remembered;
    this.isFolded = needsFoldedState(telling.choice);
    this.isPlain = supportsRawDeltas(telling.choice);
  }

  /** @param steps what the entries come to, for dialects that are folded */
  broadcast(
    entries: readonly LogEntry[],
    steps: readonly LiveChange[],
    to: Position,
    ended: string | null,
  ): void {
    const bytes = this.isFolded ? this.#encode(steps) : encodeEntries(this.#telling, entries);
    for (const seat of this.subscribers) seat.sendLive(bytes, to, ended);
  }

  #encode(steps: readonly LiveChange[]): Buffer | null {
    const texts: string[] = [];
    for (const step of steps) {
      if ("rawText" in step) texts.push(rawDeltaFrame(this.#telling, step.head, step.rawText, step.cursor));
      else for (const frame of this.#framesOf(step)) texts.push(frameText(this.#telling, frame));
    }
    return joinWireBytes(this.#telling, texts);
  }

  #framesOf({ event, before, after }: Exclude<LiveChange, { rawText: string }>): readonly object[] {
    const { choice } = this.#telling;
    const { frames, remembered } = encodeEvent(choice, this.#remembered, event, before, after);
    this.#remembered = remembered;
    return frames;
  }
}
