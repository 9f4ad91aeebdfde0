/**
 * `chunkText` splits a text into chunks that can be stored separately, at line ends if possible. Pure.
 * Invariant: the chunks joined are the original text. Each has 1 to `CHUNK_CHARS` characters, and no surrogate pair is
 * split.
 */

export const CHUNK_CHARS = 16_000;

/** The chunks joined are the original text. */
export function chunkText(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = endOf(text, at);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

function endOf(text: string, at: number): number {
  const most = at + CHUNK_CHARS;
  if (most >= text.length) return text.length;
  const line = text.lastIndexOf("\n", most - 1);
  if (line > at) return line + 1;
  // Don't split a surrogate pair.
  const code = text.charCodeAt(most - 1);
  return code >= 0xd800 && code < 0xdc00 ? most - 1 : most;
}
