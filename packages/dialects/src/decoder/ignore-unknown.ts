/**
 * `ignoreUnknown` wraps a decoder so that it ignores unknown and malformed frames instead of throwing.
 * Invariant: data from the network is untrusted, and no frame may break the UI. An ignored frame leaves the decoder
 * unchanged, writes no events and reports its problem.
 */
import type { Decoded } from "./decoder.ts";

export function ignoreUnknown<D, F extends { readonly type: string }>(
  known: ReadonlySet<F["type"]>,
  decode: (decoder: D, frame: F) => Decoded<D>,
): (decoder: D, frame: F) => Decoded<D> {
  return (decoder, frame) => {
    try {
      if (known.has(frame.type)) return decode(decoder, frame);
      return { decoder, events: [], problem: `unknown frame type ${frame.type}` };
    } catch (error) {
      // The events belong to the `EventWriter` of this call, so a failed frame leaves no partial events behind.
      return { decoder, events: [], problem: error instanceof Error ? error.message : String(error) };
    }
  };
}
