/**
 * Which levels the headings of an answer have in the page, whatever its author counted from: the first is 3, below those of
 * the page, and none is more than one below the last, so that people who go by headings miss nothing. Pure. Each follows
 * from those before it alone, so that it stays as it is while the answer grows.
 */
import { createContext } from "react";

/** The headings that something stands below, outermost first, by the depths that the answer gave them. */
export type Outline = readonly number[];

const FIRST = 3;
const LAST = 6;

export function withHeading(outline: Outline, depth: number): Outline {
  return [...outline.filter((above) => above < depth), depth];
}

/** Of the heading that was last put in. */
export function levelOf(outline: Outline): number {
  return Math.min(LAST, FIRST + Math.max(0, outline.length - 1));
}

/** Of one that stands in a list or a quotation, and is part of no outline. */
export function levelBelow(outline: Outline): number {
  return Math.min(LAST, FIRST + outline.length);
}

/** Which level the headings of a piece have, for what draws them. */
export const HeadingContext = createContext(3);
