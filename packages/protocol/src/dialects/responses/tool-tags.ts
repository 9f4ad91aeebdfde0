/**
 * Removes `<tool ...>...</tool>` spans from text that arrives in chunks (`stripChunk`, `stripEnd`).
 * Invariant: the output depends only on the text, not on the chunk boundaries. Text is released as soon as it can't be
 * a tag. At most one possible opening tag is buffered, and the content of spans is never inspected.
 *
 *   text ──`<`──▶ tag ──`>`──▶ span ──`</tool>`──▶ text
 *     ▲            │ `/>`: an empty span
 *     └────────────┴ not a tag: its `<` is text, and the rest is scanned again
 *
 * The rescan stays linear: two possible tags at the same place differ in their open quote (none, " or '). So each
 * character is read for at most three of them.
 */

export interface TagScanner {
  readonly mode: "text" | "tag" | "span";
  /** The text of a possible opening tag, from its `<` on. */
  readonly buffered: string;
  /** The quote that is open in `buffered`, or "". */
  readonly quote: string;
  /** In a span: how many characters of `</tool` were just matched. White space after the full match changes nothing. */
  readonly matched: number;
}

/** The mutable working copy for one chunk. */
interface Cursor {
  chunk: string;
  at: number;
  mode: TagScanner["mode"];
  /** The part of the current tag that came before this chunk; "" if the tag starts in this chunk. */
  buffered: string;
  quote: string;
  matched: number;
  /** Where the current tag starts in the chunk; 0 while `buffered` is not empty. */
  from: number;
  text: string;
}

const OPENING = "<tool";
const CLOSING = "</tool";
const MAX_TAG = 4096;

export const emptyTagScanner: TagScanner = { mode: "text", buffered: "", quote: "", matched: 0 };

export function stripChunk(scanner: TagScanner, chunk: string): { scanner: TagScanner; text: string } {
  const c: Cursor = { ...scanner, chunk, at: 0, from: 0, text: "" };
  run(c);
  const buffered = c.mode === "tag" ? c.buffered + c.chunk.slice(c.from) : "";
  return { scanner: { mode: c.mode, buffered, quote: c.quote, matched: c.matched }, text: c.text };
}

/** Returns the buffered text once the block has ended. An unclosed span stays hidden. */
export function stripEnd(scanner: TagScanner): string {
  const c: Cursor = { ...scanner, chunk: "", at: 0, from: 0, text: "" };
  while (c.mode === "tag") {
    giveUpTag(c);
    run(c);
  }
  return c.text;
}

export function stripToolTags(text: string): string {
  const { scanner, text: stripped } = stripChunk(emptyTagScanner, text);
  return stripped + stripEnd(scanner);
}

function run(c: Cursor): void {
  while (c.at < c.chunk.length) {
    if (c.mode === "text") readText(c);
    else if (c.mode === "tag") readTag(c);
    else readSpan(c);
  }
}

function readText(c: Cursor): void {
  const next = c.chunk.indexOf("<", c.at);
  const end = next < 0 ? c.chunk.length : next;
  c.text += c.chunk.slice(c.at, end);
  c.at = end;
  if (next < 0) return;
  c.mode = "tag";
  c.from = next;
  c.at = next + 1;
}

function readTag(c: Cursor): void {
  const { chunk } = c;
  // Converts an offset in the chunk to an offset in the tag.
  const offset = c.buffered.length - c.from;
  for (; c.at < chunk.length; c.at += 1) {
    const char = chunk.charAt(c.at);
    const place = offset + c.at;
    if (place < OPENING.length) {
      if (char !== OPENING[place]) return giveUpTag(c);
    } else if (c.quote !== "") {
      if (char === c.quote) c.quote = "";
    } else if (char === ">") {
      return endTag(c);
    } else if (char === "<" || (place === OPENING.length && char !== "/" && !isSpace(char))) {
      return giveUpTag(c);
    } else if (char === '"' || char === "'") {
      c.quote = char;
    }
    if (place === MAX_TAG - 1) return giveUpTag(c);
  }
}

function endTag(c: Cursor): void {
  const before = c.at > c.from ? c.chunk[c.at - 1] : c.buffered.at(-1);
  c.mode = before === "/" ? "text" : "span";
  c.buffered = "";
  c.at += 1;
}

/** Treats the `<` as text and rescans everything after it. */
function giveUpTag(c: Cursor): void {
  if (c.buffered !== "") {
    c.chunk = c.buffered + c.chunk;
    c.buffered = "";
  }
  c.text += "<";
  c.at = c.from + 1;
  c.mode = "text";
  c.quote = "";
}

function readSpan(c: Cursor): void {
  if (c.matched === 0) {
    const next = c.chunk.indexOf("<", c.at);
    c.matched = next < 0 ? 0 : 1;
    c.at = next < 0 ? c.chunk.length : next + 1;
    return;
  }
  const char = c.chunk.charAt(c.at);
  c.at += 1;
  if (c.matched < CLOSING.length && char === CLOSING[c.matched]) {
    c.matched += 1;
  } else if (c.matched === CLOSING.length && char === ">") {
    c.matched = 0;
    c.mode = "text";
  } else if (c.matched < CLOSING.length || !isSpace(char)) {
    c.matched = char === "<" ? 1 : 0;
  }
}

/** White space as defined by HTML. */
function isSpace(char: string): boolean {
  return char === " " || char === "\n" || char === "\t" || char === "\r" || char === "\f";
}
