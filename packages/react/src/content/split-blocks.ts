/**
 * `splitBlocks` splits Markdown into pieces that render independently. All pieces except the last two stay unchanged
 * when text is appended. Pure. Each call lexes only the end of the text again, not the whole answer.
 *
 * No piece except code costs more than `MAX_PIECE_COST`. A longer one is cut. The rest of a table repeats its header.
 *
 *   text     # Title ¶¶ A paragraph. ¶¶ - a list ¶ - of two ¶¶ Half a sen
 *            └─────────── closed ──────┘ └──────── tail ────────────────┘
 *                                        ▲ safe: lexed again from here
 *
 * Invariant: the closed part ends at a blank line. Appended text can join the last two pieces (an item continues a
 * list), and a line of dashes turns the text above it, up to a blank line, into a heading.
 */
import type { Token, Tokens } from "marked";
import type { FormulaSyntax } from "./markdown-plugin.ts";
import { levelBelowHeading, headingLevel, type HeadingPath, withHeading } from "./headings.ts";
import { lexBlocks } from "./markdown-lexer.ts";
import { findCostEnd, findCut } from "./render-cost.ts";

export interface Piece {
  /** The offset in the text, in UTF-16 code units. */
  readonly at: number;
  /** For the rest of a table that was cut: the lines of its header. Otherwise empty. */
  readonly head: string;
  readonly raw: string;
  /** A code block, which needs no further parsing; null for everything else. */
  readonly code: Code | null;
  /** The page level of a heading in it: 3 to 6. */
  readonly level: number;
}

interface Code {
  readonly language: string;
  readonly text: string;
  /** Whether its closing fence has arrived. */
  readonly isClosed: boolean;
}

/** The link definitions by label, as written. */
export type Definitions = ReadonlyMap<string, string>;

/** The part of the text that appended text can't change any more. */
interface Closed {
  /** Where it ends, and the tail starts. */
  readonly safe: number;
  /** If a table or a code block was cut there: its first lines, which the tail repeats. Otherwise empty. */
  readonly head: string;
  /**
   * Pieces in chunks, so that a delta doesn't visit a whole long answer. A full chunk never changes.
   */
  readonly chunks: readonly (readonly Piece[])[];
  readonly definitions: Definitions;
  readonly headings: HeadingPath;
}

export interface Split {
  readonly text: string;
  /** With the pieces of the tail. */
  readonly chunks: readonly (readonly Piece[])[];
  readonly definitions: Definitions;
  readonly closed: Closed;
  /** How formulas are written; null if there are none. */
  readonly syntax: FormulaSyntax | null;
}

const PIECES_PER_CHUNK = 32;
/** The number of last pieces that appended text can still join. */
const OPEN_PIECES = 2;
/** The most that a piece costs, and the most that is lexed at once. See render-cost.ts. */
const MAX_PIECE_COST = 12_000;
/** Code is not parsed, but each delta copies it. */
const MAX_CODE_CHARS = 100_000;
/** A table with a longer header is not continued. */
const MAX_HEAD_CHARS = 500;

const NOTHING: Closed = { safe: 0, head: "", chunks: [], definitions: new Map(), headings: [] };

export const EMPTY_SPLIT: Split = {
  text: "",
  chunks: [],
  definitions: new Map(),
  closed: NOTHING,
  syntax: null,
};

/** Continues the previous split if `text` starts with it and the syntax is the same, otherwise starts over. */
export function splitBlocks(before: Split, text: string, syntax: FormulaSyntax | null = null): Split {
  const clean = normalizeNewlines(text);
  const isSame = before.syntax === syntax;
  if (isSame && clean === before.text) return before;
  const from = isSame && clean.startsWith(before.text) ? before : EMPTY_SPLIT;
  let { closed } = from;
  for (;;) {
    const end = findWindowEnd(clean, closed);
    const tokens = placeTokens(clean, closed, end, syntax);
    const sure = countClosed(clean, tokens);
    const safe = tokens[sure]?.at ?? closed.safe;
    const isStuck = end < clean.length && safe === closed.safe;
    closed = isStuck
      ? closeWindow(closed, clean, tokens, end, syntax)
      : close(closed, tokens.slice(0, sure), safe);
    if (end < clean.length) continue;
    const tail = tokens.slice(sure);
    return {
      text: clean,
      chunks: withPieces(closed.chunks, toPieces(tail, closed.headings).pieces),
      definitions: keepIfSame(from.definitions, withDefinitions(closed.definitions, tail)),
      closed,
      syntax,
    };
  }
}

function close(closed: Closed, tokens: readonly PlacedToken[], safe: number, head = ""): Closed {
  if (safe === closed.safe) return closed;
  const { pieces, headings } = toPieces(tokens, closed.headings);
  const chunks = withPieces(closed.chunks, pieces);
  const definitions = withDefinitions(closed.definitions, tokens);
  return { safe, head, chunks, definitions, headings };
}

/** Closes a part of a window that has no end of a piece, so that a piece can't grow without a bound. */
function closeWindow(
  closed: Closed,
  text: string,
  tokens: readonly PlacedToken[],
  end: number,
  syntax: FormulaSyntax | null,
): Closed {
  const last = tokens.at(-1);
  if (last !== undefined && last.at > closed.safe) return close(closed, tokens.slice(0, -1), last.at);
  const isWhole = last?.token.type === "code" && toCode(last.token as Tokens.Code).isClosed;
  const cut = isWhole ? end : findCut(text, closed.safe, end);
  const parts = placeTokens(text, closed, cut, syntax);
  return close(closed, parts, cut, isWhole ? "" : findHead(parts.at(-1)?.token));
}

/** Returns the lines that continue a token which was cut. */
function findHead(token: Token | undefined): string {
  const lines = token?.type === "table" ? 2 : token?.type === "code" && FENCE.test(token.raw) ? 1 : 0;
  const head = (token?.raw ?? "").split("\n", lines).join("\n");
  return lines === 0 || head.length > MAX_HEAD_CHARS ? "" : `${head}\n`;
}

const FENCE = /^ {0,3}(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})/;

/** Returns where the text that is lexed next ends. A code block is lexed up to its closing fence. */
function findWindowEnd(text: string, { safe, head }: Closed): number {
  const end = Math.max(safe + 1, findCostEnd(text, safe, MAX_PIECE_COST));
  if (end >= text.length) return text.length;
  const fence = FENCE.exec(head + text.slice(safe, end))?.[1];
  if (fence === undefined) return end;
  const most = Math.min(text.length, safe + MAX_CODE_CHARS);
  const closing = new RegExp(`\\n {0,3}${fence}${fence.charAt(0)}* *(?=\\n|$)`);
  // The first line of a code block that was cut can be its closing fence, after the line break before it.
  const start = head === "" ? safe : safe - 1;
  const found = closing.exec(text.slice(start, most));
  return Math.max(end, found === null ? most : start + found.index + found[0].length);
}

/** Returns the number of first pieces that can't change any more. */
function countClosed(text: string, tokens: readonly PlacedToken[]): number {
  for (let n = tokens.length - OPEN_PIECES; n > 0; n--) {
    const before = tokens[n - 1]?.token.type;
    if (before === "code" || before === "heading" || isAfterBlank(text, tokens[n]?.at ?? 0)) return n;
  }
  return 0;
}

function isAfterBlank(text: string, at: number): boolean {
  const lineEnd = text.lastIndexOf("\n", at - 1);
  if (lineEnd <= 0) return false;
  return text.slice(text.lastIndexOf("\n", lineEnd - 1) + 1, lineEnd).trim() === "";
}

/**
 * Keeps offsets in the text valid. A `\r` at the end is left out, because it means something else before a `\n`, and a
 * change of earlier text would start the split over.
 */
export function normalizeNewlines(text: string): string {
  if (!text.includes("\r")) return text;
  return text.replace(/\r$/, "").replaceAll("\r\n", " \n").replaceAll("\r", "\n");
}

interface PlacedToken {
  readonly at: number;
  readonly head: string;
  readonly raw: string;
  readonly token: Token;
}

/** Returns the tokens between the closed part and `end`, without blank lines. */
function placeTokens(
  text: string,
  { safe, head }: Closed,
  end: number,
  syntax: FormulaSyntax | null,
): PlacedToken[] {
  const source = head + text.slice(safe, end);
  const found: PlacedToken[] = [];
  let done = 0;
  const place = (token: Token): void => {
    const isContinued = done < head.length;
    const raw = isContinued ? token.raw.slice(head.length) : token.raw;
    const at = safe + Math.max(0, done - head.length);
    if (token.type !== "space" && raw.trim() !== "")
      found.push({ at, head: isContinued ? head : "", raw, token });
    done += token.raw.length;
  };
  for (const token of lexBlocks(source, syntax)) {
    if (!source.startsWith(token.raw, done)) break;
    place(token);
  }
  const raw = source.slice(done);
  if (raw !== "") place({ type: "text", raw, text: raw });
  return found;
}

/** @param before the headings above these tokens */
function toPieces(
  tokens: readonly PlacedToken[],
  before: HeadingPath,
): { readonly pieces: Piece[]; readonly headings: HeadingPath } {
  let headings = before;
  const pieces: Piece[] = [];
  for (const { at, head, raw, token } of tokens) {
    if (token.type === "def") continue;
    if (token.type === "heading") headings = withHeading(headings, (token as Tokens.Heading).depth);
    const level = token.type === "heading" ? headingLevel(headings) : levelBelowHeading(headings);
    const code = token.type === "code" ? toCode(token as Tokens.Code) : null;
    pieces.push({ at, head, raw, code, level });
  }
  return { pieces, headings };
}

/** Reads a code block of the parser. */
export function toCode({ raw, lang = "", text, codeBlockStyle }: Tokens.Code): Code {
  if (codeBlockStyle === "indented") return { language: "", text, isClosed: true };
  const [first = "", ...rest] = raw.trimEnd().split("\n");
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(first)?.[1] ?? "```";
  const last = (rest.at(-1) ?? "").trim();
  const isClosed = last.length >= fence.length && last === fence.charAt(0).repeat(last.length);
  return { language: rest.length === 0 ? "" : (lang.split(/\s/)[0] ?? ""), text, isClosed };
}

function withPieces(chunks: Split["chunks"], pieces: readonly Piece[]): Split["chunks"] {
  if (pieces.length === 0) return chunks;
  const last = chunks.at(-1) ?? [];
  const canAppend = last.length > 0 && last.length < PIECES_PER_CHUNK;
  const next = [...(canAppend ? chunks.slice(0, -1) : chunks)];
  const all = canAppend ? [...last, ...pieces] : pieces;
  for (let n = 0; n < all.length; n += PIECES_PER_CHUNK) next.push(all.slice(n, n + PIECES_PER_CHUNK));
  return next;
}

function withDefinitions(before: Definitions, tokens: readonly PlacedToken[]): Definitions {
  const added = tokens.flatMap(({ token }) => (token.type === "def" ? [token as Tokens.Def] : []));
  if (added.length === 0) return before;
  const next = new Map(before);
  // In Markdown, the first definition of a label wins.
  for (const { tag, raw } of added) if (!next.has(tag)) next.set(tag, raw.trim());
  return next;
}

function keepIfSame(before: Definitions, next: Definitions): Definitions {
  const isSame = before.size === next.size && [...next].every(([tag, raw]) => before.get(tag) === raw);
  return isSame ? before : next;
}

/**
 * Returns the definitions that a piece uses, as text to append to it. The piece is parsed together with them. So only
 * the first ones count whose length is in proportion to that of the piece.
 */
export function definitionsFor(raw: string, definitions: Definitions): string {
  if (definitions.size === 0) return "";
  const maxChars = MIN_DEFINITION_CHARS + 3 * raw.length;
  let used = "";
  for (const tag of findTags(raw)) {
    const text = definitions.get(tag) ?? "";
    if (text !== "" && used.length + text.length <= maxChars) used += `\n\n${text}`;
  }
  return used;
}

const MIN_DEFINITION_CHARS = 300;

/** Returns the texts between brackets. Reads every character once; a pattern would read them again from each bracket. */
function findTags(raw: string): ReadonlySet<string> {
  const tags = new Set<string>();
  let start = 0;
  for (let at = raw.indexOf("["); at >= 0 && at < raw.length; at++) {
    const char = raw[at];
    if (char === "\\") at++;
    else if (char === "[") start = at + 1;
    else if (char === "]" && start > 0) {
      tags.add(raw.slice(start, at).toLowerCase().replaceAll(/\s+/g, " "));
      start = 0;
    }
  }
  return tags;
}

/** A long list split into its items, so that a growing list renders item by item. */
export interface ListItems {
  /** The number of the first item; null for an unordered list. */
  readonly start: number | null;
  /** Whether blank lines separate its items, so that they are paragraphs. */
  readonly isLoose: boolean;
  /** The Markdown of each item, without marker and indent. */
  readonly items: readonly string[];
}

const LIST_START = /^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]/;
/** Shorter lists render just as fast in one piece. */
const MIN_ITEMS = 6;

/** Returns null if the source is not a list, or is a short list or a task list. These render like other Markdown. */
export function splitListItems(source: string, syntax: FormulaSyntax | null = null): ListItems | null {
  if (!LIST_START.test(source)) return null;
  const [list, ...others] = lexBlocks(source, syntax).filter(({ type }) => type !== "space");
  if (list?.type !== "list" || others.length > 0) return null;
  const { ordered, start, loose, items } = list as Tokens.List;
  if (items.length < MIN_ITEMS || items.some(({ task }) => task)) return null;
  return {
    start: ordered ? Number(start) : null,
    isLoose: loose,
    items: items.map(({ text }) => text),
  };
}
