/**
 * `BroadcastGroup` encodes new entries once for all live subscriptions of a session with the same format, and sends
 * the same bytes to each.
 * Invariant: every entry passes `broadcast` once and in order, because the encoder state advances with it. A
 * subscription joins only at the position of the feed. Entries without a frame are broadcast too, so that positions
 * advance.
 */
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
  type RawDelta,
  rawDeltaFrame,
} from "../encoding/encode.ts";
import type { LiveChange } from "./live-state.ts";
import type { SubscriptionController } from "../subscription/subscription-controller.ts";

export class BroadcastGroup {
  readonly subscribers = new Set<SubscriptionController>();
  readonly isFolded: boolean;
  /** True if deltas can be encoded from their JSON text in the log. */
  readonly takesRawDeltas: boolean;
  readonly #target: EncodingTarget;
  #encoderState: EncoderState;

  constructor(target: EncodingTarget, encoderState: EncoderState) {
    this.#target = target;
    this.#encoderState = encoderState;
    this.isFolded = needsFoldedState(target.format);
    this.takesRawDeltas = supportsRawDeltas(target.format);
  }

  /** @param changes the effects of the entries, for dialects that need the folded state */
  broadcast(
    entries: readonly LogEntry[],
    changes: readonly LiveChange[],
    position: Position,
    endedTurn: string | null,
  ): void {
    const bytes = this.isFolded
      ? this.#encodeChanges(entries, changes)
      : encodeEntries(this.#target, entries);
    for (const controller of this.subscribers) controller.sendLive(bytes, position, endedTurn);
  }

  #encodeChanges(entries: readonly LogEntry[], changes: readonly LiveChange[]): Buffer | null {
    const texts: string[] = [];
    for (const [n, change] of changes.entries()) {
      if ("rawText" in change) texts.push(rawDeltaFrame(this.#target, change, entries[n] as LogEntry));
      else for (const frame of this.#encodeChange(change)) texts.push(frameText(this.#target, frame));
    }
    return joinWireBytes(this.#target, texts);
  }

  #encodeChange({ event, before, after }: Exclude<LiveChange, RawDelta>): readonly object[] {
    const { format } = this.#target;
    const { frames, encoderState } = encodeEvent(format, this.#encoderState, event, before, after);
    this.#encoderState = encoderState;
    return frames;
  }
}
