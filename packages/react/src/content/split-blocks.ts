/**
 * Markdown as a list of pieces that can each be drawn for itself: all but the last two stay as they are, whatever is
 * appended. Pure, and cheap to go on with: only the end is looked at again, not the whole answer.
 *
 *   text     # Title ¶¶ A paragraph. ¶¶ - a list ¶ - of two ¶¶ Half a sen
 *            └─────────── closed ──────┘ └──────── tail ────────────────┘
 *                                        ▲ safe: lexed again from here
 *
 * What is appended can join the last piece with the one before it (an item goes on with the list), and a line of dashes
 * makes a heading of whatever stands above it up to a blank line: what is closed ends at one.
 */
import { Lexer, type Token, Tokenizer, type Tokens, type TokensList } from "marked";
import { levelBelowHeading, headingLevel, type HeadingPath, withHeading } from "./headings.ts";

export interface Piece {
  /** Where it begins in the text, in UTF-16 units. */
  readonly at: number;
  readonly raw: string;
  /** A code block, whose text needs no further look; null for everything else. */
  readonly code: Code | null;
  /** Which level of the page a heading in it has: 3 to 6. */
  readonly level: number;
}

interface Code {
  readonly language: string;
  readonly text: string;
  /** Whether its fence is shut. */
  readonly isClosed: boolean;
}

/** The targets that links name by a label, as they were written, by label. */
export type Definitions = ReadonlyMap<string, string>;

export interface Split {
  readonly text: string;
  /** In chunks, so that a long answer isn't gone through for every word: a full one before the tail is never another. */
  readonly chunks: readonly (readonly Piece[])[];
  readonly definitions: Definitions;
  /** Where the tail begins; the chunks and definitions before it. */
  readonly safe: number;
  readonly closed: readonly (readonly Piece[])[];
  readonly closedDefinitions: Definitions;
  readonly closedHeadings: HeadingPath;
}

const PIECES_PER_CHUNK = 32;
/** How many of the last pieces may still be joined by what comes. */
const OPEN_PIECES = 2;

export const EMPTY_SPLIT: Split = {
  text: "",
  chunks: [],
  definitions: new Map(),
  safe: 0,
  closed: [],
  closedDefinitions: new Map(),
  closedHeadings: [],
};

/** Goes on from what was split before, when `text` begins with it; otherwise anew. */
export function splitBlocks(before: Split, text: string): Split {
  const clean = normalizeNewlines(text);
  if (clean === before.text) return before;
  const from = clean.startsWith(before.text) ? before : EMPTY_SPLIT;
  const tokens = placeTokens(clean, from.safe);
  const sure = countClosed(clean, tokens);
  const tail = tokens.slice(sure);
  const { pieces, headings } = toPieces(tokens.slice(0, sure), from.closedHeadings);
  const closed = withPieces(from.closed, pieces);
  const closedDefinitions = withDefinitions(from.closedDefinitions, tokens.slice(0, sure));
  return {
    text: clean,
    chunks: withPieces(closed, toPieces(tail, headings).pieces),
    definitions: keepIfSame(from.definitions, withDefinitions(closedDefinitions, tail)),
    safe: tail[0]?.at ?? from.safe,
    closed,
    closedDefinitions,
    closedHeadings: headings,
  };
}

/** How many of the first pieces stay as they are, whatever comes. */
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

/** As long as before, so that what is counted in the text still is where it was. */
function normalizeNewlines(text: string): string {
  return text.includes("\r") ? text.replaceAll("\r\n", " \n").replaceAll("\r", "\n") : text;
}

/** What is inside a piece matters only as far as it tells where the piece ends. */
const MAX_DEPTH = 6;

/** Goes into lists and quotations only so deep: what is nested without end would have no end here either. */
class BlockLexer extends Lexer {
  private depth = 0;

  override blockTokens(source: string, tokens: Token[] = [], isClipped = false): TokensList {
    if (this.depth === MAX_DEPTH) tokens.push({ type: "text", raw: source, text: source });
    else {
      this.depth++;
      try {
        super.blockTokens(source, tokens, isClipped);
      } finally {
        this.depth--;
      }
    }
    return tokens as TokensList;
  }
}

/** marked throws where a quotation ends in an empty item with text right below it. It is a paragraph then. */
class SafeTokenizer extends Tokenizer {
  override blockquote(source: string): Tokens.Blockquote | undefined {
    const { top } = this.lexer.state;
    try {
      return super.blockquote(source);
    } catch {
      this.lexer.state.top = top;
      return undefined;
    }
  }
}

function blockTokens(source: string): readonly Token[] {
  return new BlockLexer({ gfm: true, tokenizer: new SafeTokenizer() }).blockTokens(source);
}

interface PlacedToken {
  readonly at: number;
  readonly token: Token;
}

/** What is there from `start` on, blank lines aside. */
function placeTokens(text: string, start: number): PlacedToken[] {
  const source = text.slice(start);
  const found: PlacedToken[] = [];
  let at = 0;
  for (const token of blockTokens(source)) {
    if (!source.startsWith(token.raw, at)) break;
    if (token.type !== "space") found.push({ at: start + at, token });
    at += token.raw.length;
  }
  if (at < source.length) {
    const raw = source.slice(at);
    found.push({ at: start + at, token: { type: "text", raw, text: raw } });
  }
  return found;
}

/** @param before the headings that what is here stands below */
function toPieces(
  tokens: readonly PlacedToken[],
  before: HeadingPath,
): { readonly pieces: Piece[]; readonly headings: HeadingPath } {
  let headings = before;
  const pieces: Piece[] = [];
  for (const { at, token } of tokens) {
    if (token.type === "def") continue;
    if (token.type === "heading") headings = withHeading(headings, (token as Tokens.Heading).depth);
    const level = token.type === "heading" ? headingLevel(headings) : levelBelowHeading(headings);
    const code = token.type === "code" ? toCode(token as Tokens.Code) : null;
    pieces.push({ at, raw: token.raw, code, level });
  }
  return { pieces, headings };
}

function toCode({ raw, lang = "", text, codeBlockStyle }: Tokens.Code): Code {
  if (codeBlockStyle === "indented") return { language: "", text, isClosed: true };
  const [first = "", ...rest] = raw.trimEnd().split("\n");
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(first)?.[1] ?? "```";
  const last = (rest.at(-1) ?? "").trim();
  const isClosed = last.length >= fence.length && last === fence.charAt(0).repeat(last.length);
  return { language: rest.length === 0 ? "" : (lang.split(/\s/)[0] ?? ""), text, isClosed };
}

function withPieces(chunks: Split["closed"], pieces: readonly Piece[]): Split["closed"] {
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
  // The first one counts, as Markdown has it.
  for (const { tag, raw } of added) if (!next.has(tag)) next.set(tag, raw.trim());
  return next;
}

function keepIfSame(before: Definitions, next: Definitions): Definitions {
  const isSame = before.size === next.size && [...next].every(([tag, raw]) => before.get(tag) === raw);
  return isSame ? before : next;
}

/** The definitions that a piece names, as text to be put behind it. */
export function definitionsFor(raw: string, definitions: Definitions): string {
  if (definitions.size === 0 || !raw.includes("[")) return "";
  const tags = new Set(
    [...raw.matchAll(/\[((?:[^\]\\]|\\.)+)\]/g)].map((match) =>
      (match[1] ?? "").toLowerCase().replaceAll(/\s+/g, " "),
    ),
  );
  return [...definitions].flatMap(([tag, text]) => (tags.has(tag) ? [`\n\n${text}`] : [])).join("");
}

/** A long list as its items, so that one that grows is drawn item by item. Pure. */
export interface ListItems {
  /** The number of the first; null without numbers. */
  readonly start: number | null;
  /** Whether its items are apart, as paragraphs. */
  readonly isLoose: boolean;
  /** Markdown of each, without its mark and indent. */
  readonly items: readonly string[];
}

const LIST_START = /^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]/;
/** Shorter ones are drawn as fast in one go. */
const MIN_ITEMS = 6;

/** Null for what is no list, a short one, or one with boxes to tick: these are drawn as everything else is. */
export function splitListItems(source: string): ListItems | null {
  if (!LIST_START.test(source)) return null;
  const [list, ...others] = blockTokens(source).filter(({ type }) => type !== "space");
  if (list?.type !== "list" || others.length > 0) return null;
  const { ordered, start, loose, items } = list as Tokens.List;
  if (items.length < MIN_ITEMS || items.some(({ task }) => task)) return null;
  return {
    start: ordered ? Number(start) : null,
    isLoose: loose,
    items: items.map(({ text }) => text),
  };
}
