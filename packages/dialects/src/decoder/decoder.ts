/**
 * `Decoder` is the interface of every decoder: a pure function from frames to canonical events. Types only.
 * Invariant: a decoder accepts any frame and ignores unknown ones.
 */
import type { Cursor, SessionEvent, SessionState } from "@turnstream/protocol";

/** The state that every decoder has: the session so far, and the time of the last frame. */
export interface Decoding {
  readonly state: SessionState;
  readonly at: number;
  /** The cursor of the last frame that had one. The client resumes from it. */
  readonly cursor: Cursor | null;
}

export interface Decoded<State> {
  readonly decoder: State;
  readonly events: readonly SessionEvent[];
  /** Why the decoder ignored the frame; null if it was decoded. */
  readonly problem: string | null;
}

export interface Decoder<State extends Decoding, Frame> {
  /** The decoder before the first frame. */
  readonly start: State;
  /** Returns the events of one frame, at positions that the decoder assigns. */
  decode(decoder: State, frame: Frame): Decoded<State>;
}
