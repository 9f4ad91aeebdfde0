/** Cuts a text into pieces that can be kept one by one, at the ends of lines where there are any. Pure. */

export const CHUNK_CHARS = 16_000;

/** Joined, the pieces are the text. */
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
  // Never between the halves of a character.
  const code = text.charCodeAt(most - 1);
  return code >= 0xd800 && code < 0xdc00 ? most - 1 : most;
}
