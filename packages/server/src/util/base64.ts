/**
 * `isBase64` returns true for base64 with or without padding at its end, and for an empty text. Pure.
 *
 * Invariant: the check takes linear time for any length. When the garbage collector interrupts a match over 30 million
 * characters, the match can take seconds or end with a RangeError, so the pattern gets only short slices.
 */
const DIGITS = /^[A-Za-z0-9+/]*$/;
const SLICE = 16_384;

export function isBase64(text: string): boolean {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const end = text.length - padding;
  if (end === 0) return padding === 0;
  for (let at = 0; at < end; at += SLICE)
    if (!DIGITS.test(text.slice(at, Math.min(at + SLICE, end)))) return false;
  return true;
}
