/**
 * `decodeReferences` replaces the character references of HTML in a text, such as `&amp;` and `&#169;`, by their
 * characters. Pure.
 * Invariant: a decoded character never becomes part of another reference, and the result is text, never HTML.
 */
import { decodeNamedCharacterReference } from "decode-named-character-reference";

const REFERENCE = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][a-z\d]{1,31}));/gi;

export function decodeReferences(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(REFERENCE, (reference, decimal?: string, hex?: string, name = "") => {
    if (decimal !== undefined) return fromCode(Number.parseInt(decimal, 10));
    if (hex !== undefined) return fromCode(Number.parseInt(hex, 16));
    return decodeNamedCharacterReference(name) || reference;
  });
}

function fromCode(code: number): string {
  const isCharacter = code > 0 && code <= 0x10_ffff && !(code >= 0xd800 && code < 0xe000);
  return isCharacter ? String.fromCodePoint(code) : "\ufffd";
}
