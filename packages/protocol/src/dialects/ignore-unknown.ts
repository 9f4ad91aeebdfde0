/**
 * Makes a decoder take anything: a frame of a kind it doesn't know, or one that is not what it claims to be,
 * says nothing. What comes over a wire is not ours to trust, and a screen must not break on it.
 */
import type { Decoded } from "./dialect.ts";

export function ignoreUnknown<D, F extends { readonly type: string }>(
  known: ReadonlySet<F["type"]>,
  decode: (decoder: D, frame: F) => Decoded<D>,
): (decoder: D, frame: F) => Decoded<D> {
  return (decoder, frame) => {
    try {
      if (known.has(frame.type)) return decode(decoder, frame);
      return { decoder, events: [], problem: `frames of type ${frame.type} are not known here` };
    } catch (error) {
      // Events are written to a scribe of this call only: nothing is half said.
      return { decoder, events: [], problem: error instanceof Error ? error.message : String(error) };
    }
  };
}
