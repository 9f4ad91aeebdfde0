/**
 * `createFormulaSyntax` finds formulas in Markdown: `$x$`, `\(x\)`, `$$x$$` and `\[x\]`. Pure.
 * Invariant: a formula has no blank line. A single dollar is only a delimiter beside a character that is no space, and
 * not before a digit, so most amounts of money stay text. One call reads the source at most once.
 */
import type { FormulaSyntax, FoundFormula } from "../content/markdown-plugin.ts";

/** The opening delimiters, longest first, with the closing ones. */
const DELIMITERS = [
  ["$$", "$$"],
  ["\\[", "\\]"],
  ["\\(", "\\)"],
  ["$", "$"],
] as const;
/** A formula is searched no further, because an answer can have many opening delimiters. */
const MAX_SEARCH_CHARS = 4_000;
/** Text after a number, as between two amounts of money. */
const AMOUNT = /^\d[^\\{]*\s[a-z]{2,}(?:\s|$)/i;
const BLANK_LINE = /\n[ \t]*\n/;

export function createFormulaSyntax(singleDollar: boolean): FormulaSyntax {
  const start = singleDollar ? /\$|\\[([]/ : /\$\$|\\[([]/;
  return {
    find: (source, isBlock) => (isBlock ? findBlock(source) : findInline(source, singleDollar)),
    findStart: (source) => source.search(start),
  };
}

/** A formula that has lines of its own. It may still grow. */
function findBlock(source: string): FoundFormula | null {
  const [indent = "", open = ""] = /^ {0,3}(\$\$(?!\$)|\\\[)/.exec(source) ?? [];
  if (open === "") return null;
  const close = open === "$$" ? "$$" : "\\]";
  const rest = cutAtBlank(source.slice(indent.length, indent.length + MAX_SEARCH_CHARS));
  const end = rest.indexOf(close);
  if (end < 0) {
    const mayGrow = indent.length + rest.length === source.length;
    return mayGrow ? { raw: source, text: rest.trim(), isDisplay: true, isClosed: false } : null;
  }
  const after = /^[ \t]*(?:\n|$)/.exec(rest.slice(end + close.length))?.[0];
  // Text after the formula belongs to its paragraph.
  if (after === undefined) return null;
  const raw = source.slice(0, indent.length + end + close.length + after.length);
  const text = rest.slice(0, end).trim();
  return text === "" ? null : { raw, text, isDisplay: true, isClosed: true };
}

function cutAtBlank(text: string): string {
  const blank = BLANK_LINE.exec(text);
  return blank === null ? text : text.slice(0, blank.index);
}

function findInline(source: string, singleDollar: boolean): FoundFormula | null {
  const [open, close] = DELIMITERS.find(([each]) => source.startsWith(each)) ?? ["", ""];
  if (open === "" || (open === "$" && !singleDollar)) return null;
  const rest = cutAtBlank(source.slice(open.length, open.length + MAX_SEARCH_CHARS));
  const end = open === "$" ? findDollar(rest) : rest.indexOf(close);
  const text = rest.slice(0, Math.max(0, end)).trim();
  if (text === "" || (open === "$" && AMOUNT.test(text))) return null;
  const raw = source.slice(0, open.length + end + close.length);
  return { raw, text, isDisplay: open === "$$" || open === "\\[", isClosed: true };
}

/** Returns the offset of the closing dollar, or -1. */
function findDollar(rest: string): number {
  if (/^[\s$]/.test(rest)) return -1;
  for (let at = 0; at < rest.length; at++) {
    if (rest[at] === "\\") at++;
    else if (rest[at] === "$")
      return /\s/.test(rest[at - 1] ?? "") || /\d/.test(rest[at + 1] ?? "") ? -1 : at;
  }
  return -1;
}
