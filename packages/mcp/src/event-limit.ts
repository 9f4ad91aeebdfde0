/**
 * `limitBytes` and `limitEvents` return streams that fail when a server sends too much: in sum, or without ending an
 * event.
 * Invariant: `limitEvents` bounds what a parser of event streams must hold: the current line, and the lines of the
 * current event except comments. A stream of small events can stay open for days.
 */
import { McpError } from "./errors.ts";

type Bytes = TransformStream<Uint8Array, Uint8Array>;

export function limitBytes(max: number): Bytes {
  let size = 0;
  return transform((chunk) => {
    size += chunk.byteLength;
    return size > max ? `a response of more than ${max} bytes` : null;
  });
}

const LF = 10;
const CR = 13;
const COLON = 58;

export function limitEvents(max: number): Bytes {
  /** Bytes of the completed lines of the current event. */
  let lines = 0;
  /** Bytes of the current line so far. */
  let line = 0;
  let isComment = false;
  let wasCr = false;
  return transform((chunk) => {
    for (let at = 0; at < chunk.byteLength; at++) {
      const byte = chunk[at];
      const isEnd = byte === LF || byte === CR;
      // The second half of CR LF.
      const isHalf = byte === LF && wasCr;
      wasCr = byte === CR;
      if (isHalf) continue;
      if (!isEnd) {
        if (line === 0) isComment = byte === COLON;
        line += 1;
        if (lines + line > max) return `an event of more than ${max} bytes`;
        continue;
      }
      // An empty line ends the event.
      if (line === 0) lines = 0;
      else if (!isComment) lines += line;
      line = 0;
    }
    return null;
  });
}

function transform(problemIn: (chunk: Uint8Array) => string | null): Bytes {
  return new TransformStream({
    transform(chunk, out) {
      const problem = problemIn(chunk);
      if (problem === null) out.enqueue(chunk);
      else out.error(new McpError("TOO_LARGE", problem));
    },
  });
}
