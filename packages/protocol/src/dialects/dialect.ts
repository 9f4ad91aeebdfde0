/**
 * What every dialect is: a pure projection of the log into frames, and back. Types only.
 */
import type { SessionEvent } from "../events/index.ts";
import type { SessionState } from "../state.ts";

export interface Encoded<EncoderState, Frame> {
  readonly encoder: EncoderState;
  readonly frames: readonly Frame[];
}

export interface Decoded<DecoderState> {
  readonly decoder: DecoderState;
  readonly events: readonly SessionEvent[];
  /** Why the frame said nothing to this decoder, in words; null when it was read. */
  readonly problem: string | null;
}

export interface Dialect<EncoderState, DecoderState, Frame, Options = object> {
  readonly name: string;
  /** What of the log this dialect can't carry, in words; everything else survives encode and decode. */
  readonly cannotCarry: readonly string[];
  /** The encoder at a position: it follows from the state there and nothing else. */
  attach(state: SessionState, options?: Options): EncoderState;
  /**
   * The frames of one event. Where there are several, the cursor is on the last: a client that is cut off
   * between them gets them all again, and that is harmless to it.
   * @param after the fold of the event, from a caller that has it: who serves several dialects folds once and
   *   keeps one state
   */
  encode(encoder: EncoderState, event: SessionEvent, after?: SessionState): Encoded<EncoderState, Frame>;
  /** A decoder that has seen nothing. */
  readonly start: DecoderState;
  /** The events of one frame, at positions of the decoder's own. Takes anything; ignores what it doesn't know. */
  decode(decoder: DecoderState, frame: Frame): Decoded<DecoderState>;
}
