/**
 * `withHeading`, `headingLevel` and `levelBelowHeading` map the headings of an answer to heading levels of the page. So
 * screen-reader users can navigate by headings.
 * Invariant: the first level is 3, below the headings of the page, and no level is skipped. A level depends only on the
 * headings before it, so it doesn't change while the answer grows. Pure.
 */
import { createContext } from "react";

/** The enclosing headings, outermost first, with the depths that the answer gave them. */
export type HeadingPath = readonly number[];

const FIRST_LEVEL = 3;
const LAST_LEVEL = 6;

export function withHeading(path: HeadingPath, depth: number): HeadingPath {
  return [...path.filter((above) => above < depth), depth];
}

/** Returns the level of the last heading in the path. */
export function headingLevel(path: HeadingPath): number {
  return Math.min(LAST_LEVEL, FIRST_LEVEL + Math.max(0, path.length - 1));
}

/** Returns the level of a heading inside a list or quotation. */
export function levelBelowHeading(path: HeadingPath): number {
  return Math.min(LAST_LEVEL, FIRST_LEVEL + path.length);
}

/** The level of the headings in a piece of Markdown. */
export const HeadingContext = createContext(3);
