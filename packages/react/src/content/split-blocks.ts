/**
 * `splitBlocks` splits Markdown into pieces that render independently. All pieces except the last two stay unchanged
 * when text is appended. Pure. Each call lexes only the end of the text again, not the whole answer.
 *
 *   text     # Title ¶¶ A paragraph. ¶¶ - a list ¶ - of two ¶¶ Half a sen
 *            └─────────── closed ──────┘ └──────── tail ────────────────┘
 *                                        ▲ safe: lexed again from here
 *
 * Invariant: the closed part ends at a blank line. Appended text can join the last two pieces (an item continues a
 * list), and a line of dashes turns the text above it, up to a blank line, into a heading.
 */
import { Lexer, type Token, Tokenizer, type Tokens, type TokensList } from "marked";
import { levelBelowHeading, headingLevel, type HeadingPath, withHeading } from "./headings.ts";

export interface Piece {
  /** The offset in the text, in UTF-16 code units. */
  readonly at: number;
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

export interface Split {
  readonly text: string;
  /**
   * Pieces in chunks, so that a delta doesn't visit a whole long answer. A full chunk before the tail never changes.
   */
  readonly chunks: readonly (readonly Piece[])[];
  readonly definitions: Definitions;
  /** Where the tail starts, and the chunks and definitions before it. */
  readonly safe: number;
  readonly closed: readonly (readonly Piece[])[];
  readonly closedDefinitions: Definitions;
  readonly closedHeadings: HeadingPath;
}

const PIECES_PER_CHUNK = 32;
/** The number of last pieces that appended text can still join. */
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

/** Continues the previous split if `text` starts with it, otherwise starts over. */
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

/** Keeps the length, so that offsets in the text stay valid. */
function normalizeNewlines(text: string): string {
  return text.includes("\r") ? text.replaceAll("\r\n", " \n").replaceAll("\r", "\n") : text;
}

/** The content of a piece matters only to find the end of the piece. */
const MAX_DEPTH = 6;

/** Limits the depth of lists and quotations, because deeply nested input would otherwise recurse without a bound. */
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

/** marked throws if a quotation ends in an empty item directly followed by text. It is then treated as a paragraph. */
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

/** Returns the tokens from `start` on, without blank lines. */
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

/** @param before the headings above these tokens */
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
  // In Markdown, the first definition of a label wins.
  for (const { tag, raw } of added) if (!next.has(tag)) next.set(tag, raw.trim());
  return next;
}

function keepIfSame(before: Definitions, next: Definitions): Definitions {
  const isSame = before.size === next.size && [...next].every(([tag, raw]) => before.get(tag) === raw);
  return isSame ? before : next;
}

/** A longer definition is ignored: each piece that uses it is parsed together with it. */
const MAX_DEFINITION_CHARS = 500;

/** Returns the definitions that a piece uses, as text to append to it. */
export function definitionsFor(raw: string, definitions: Definitions): string {
  if (definitions.size === 0) return "";
  let used = "";
  for (const tag of findTags(raw)) {
    const text = definitions.get(tag) ?? "";
    if (text !== "" && text.length <= MAX_DEFINITION_CHARS) used += `\n\n${text}`;
  }
  return used;
}

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
