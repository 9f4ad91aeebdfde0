/**
 * `findJsonExcess` finds out what parsing a JSON text would cost, without parsing it. Pure.
 * Invariant: it reads each byte once and keeps nothing, so that 2 MB take a few milliseconds in any shape. The count of
 * values is never too low. Text that is not JSON is left to `JSON.parse`.
 */

export interface JsonBounds {
  readonly maxDepth: number;
  readonly maxValues: number;
}

/** What exceeds its bound. */
export type JsonExcess = "depth" | "values" | "number";

/**
 * Maximum characters of a number. A double has at most 25 in its shortest form, and `JSON.parse` is slow for hundreds
 * of digits.
 */
export const MAX_NUMBER_CHARS = 100;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** 1 for each byte that is neither white space nor has a meaning of its own. */
const IS_LITERAL = Uint8Array.from({ length: 256 }, (_, code) =>
  code <= SPACE || [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT].includes(code)
    ? 0
    : 1,
);

/**
 * Returns the first bound that the text exceeds, or null. Each bracket and comma counts as one value.
 * @param bytes UTF-8. A loop over bytes is several times faster than one over the characters of a string.
 */
export function findJsonExcess(bytes: Uint8Array, { maxDepth, maxValues }: JsonBounds): JsonExcess | null {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length;) {
    const code = bytes[at] as number;
    if (code <= SPACE) at = findSpaceEnd(bytes, at);
    else if (code === QUOTE) at = findStringEnd(bytes, at + 1);
    else if (code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT) {
      at++;
      if (++values > maxValues) return "values";
      if (code !== COMMA && ++depth > maxDepth) return "depth";
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      at++;
      depth--;
    } else if (code === COLON) at++;
    else {
      const end = findLiteralEnd(bytes, at);
      if (end - at > MAX_NUMBER_CHARS) return "number";
      at = end;
    }
  }
  return null;
}

// Each of these loops is small, so that it is compiled early and well.

function findSpaceEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] as number) <= SPACE) at++;
  return at;
}

/** Returns the position after the closing quote, or the end of the text. */
function findStringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const code = bytes[at] as number;
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at++;
  }
  return bytes.length;
}

/** Returns the end of a number or keyword, or of other text that is not JSON. */
function findLiteralEnd(bytes: Uint8Array, from: number): number {
  const end = Math.min(bytes.length, from + MAX_NUMBER_CHARS + 1);
  let at = from;
  while (at < end && IS_LITERAL[bytes[at] as number] === 1) at++;
  return at;
}
