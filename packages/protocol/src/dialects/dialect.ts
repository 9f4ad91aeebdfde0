/**
 * `Dialect` is the interface of every dialect: a pure projection of the log into frames. Types only.
 * Invariant: an encoder depends only on the state at its position, so any gateway can continue a stream. Only the last
 * frame of an event carries the cursor.
 */
import type { SessionEvent } from "../events/index.ts";
import type { SessionState } from "../state.ts";

export interface Encoded<EncoderState, Frame> {
  readonly encoder: EncoderState;
  readonly frames: readonly Frame[];
}

export interface Dialect<EncoderState, Frame, Options = object> {
  readonly name: string;
  /** The parts of the log that this dialect can't carry. Everything else can be decoded from its frames. */
  readonly cannotCarry: readonly string[];
  /** Creates the encoder for a position. It depends only on the state at that position. */
  attach(state: SessionState, options?: Options): EncoderState;
  /**
   * Returns the frames of one event. The last frame carries the cursor, so a client that disconnects between the frames
   * receives all of them again. This must be harmless to the client.
   * @param after the fold of the event, if the caller has it; a server with several dialects folds once and shares the
   * state
   */
  encode(encoder: EncoderState, event: SessionEvent, after?: SessionState): Encoded<EncoderState, Frame>;
}
