/** A long list as its items, so that one that grows is drawn item by item. Pure. */
import type { Tokens } from "marked";
import { blockTokens } from "./split-blocks.ts";

export interface ListItems {
  /** The number of the first; null without numbers. */
  readonly start: number | null;
  /** Whether its items are apart, as paragraphs. */
  readonly isLoose: boolean;
  /** Markdown of each, without its mark and indent. */
  readonly items: readonly string[];
}

const BEGINS = /^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]/;
/** Shorter ones are drawn as fast in one go. */
const LONG = 6;

/** Null for what is no list, a short one, or one with boxes to tick: these are drawn as everything else is. */
export function listItems(source: string): ListItems | null {
  if (!BEGINS.test(source)) return null;
  const [list, ...others] = blockTokens(source).filter(({ type }) => type !== "space");
  if (list?.type !== "list" || others.length > 0) return null;
  const { ordered, start, loose, items } = list as Tokens.List;
  if (items.length < LONG || items.some(({ task }) => task)) return null;
  return {
    start: ordered ? Number(start) : null,
    isLoose: loose,
    items: items.map(({ text }) => text),
  };
}
