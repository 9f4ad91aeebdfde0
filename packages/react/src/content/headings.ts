/**
 * Which levels the headings of an answer have in the page, whatever its author counted from: the first is 3, below those of
 * the page, and none is more than one below the last, so that people who go by headings miss nothing. Pure. Each follows
 * from those before it alone, so that it stays as it is while the answer grows.
 */
import { createContext } from "react";

/** The headings that something stands below, outermost first, by the depths that the answer gave them. */
export type HeadingPath = readonly number[];

const FIRST_LEVEL = 3;
const LAST_LEVEL = 6;

export function withHeading(path: HeadingPath, depth: number): HeadingPath {
  return [...path.filter((above) => above < depth), depth];
}

/** Of the heading that was last put in. */
export function headingLevel(path: HeadingPath): number {
  return Math.min(LAST_LEVEL, FIRST_LEVEL + Math.max(0, path.length - 1));
}

/** Of one that stands in a list or a quotation, and is under no heading of its own. */
export function levelBelowHeading(path: HeadingPath): number {
  return Math.min(LAST_LEVEL, FIRST_LEVEL + path.length);
}

/** Which level the headings of a piece have, for what draws them. */
export const HeadingContext = createContext(3);
