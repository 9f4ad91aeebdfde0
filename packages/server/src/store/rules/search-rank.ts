/**
 * Which of the found pieces come first: a term counts the more the rarer it is, words that stand together count more
 * than apart, and a title counts as well. Pure, and the same for every store.
 */
import { cutText } from "@turnstream/protocol";
import { matches, type Term, wordsOf } from "./search.ts";

/** How far a term's pieces are counted: one that is in more of them tells little. */
export const COMMON = 1_000;

/** A term with what it is worth. */
export interface Weighed extends Term {
  readonly weight: number;
}

/** @param counts in how many pieces each term is, counted up to COMMON or a little more */
export function weigh(terms: readonly Term[], counts: readonly number[]): Weighed[] {
  return terms.map((term, n) => ({ ...term, weight: Math.log(1 + (2 * COMMON) / (1 + (counts[n] ?? 0))) }));
}

/** The terms to look for: rare ones if there are any, since common ones would find almost everything. */
export function telling(terms: readonly Term[], counts: readonly number[]): Term[] {
  const known = terms.filter((_, n) => (counts[n] ?? 0) > 0);
  const rare = terms.filter((_, n) => (counts[n] ?? 0) > 0 && (counts[n] ?? 0) <= COMMON);
  return rare.length > 0 ? rare : known;
}

const SATURATION = 1.2;
const TITLE = 0.5;
const TOGETHER = 0.5;
const EXACT = 0.2;

export function scoreOf(
  terms: readonly Weighed[],
  query: string,
  { title, text }: { readonly title: string; readonly text: string },
): number {
  const words = wordsOf(text);
  const titleWords = wordsOf(title);
  let score = 0;
  for (const term of terms) {
    const times = words.filter((word) => matches(term, word)).length;
    const inTitle = titleWords.some((word) => matches(term, word));
    score += term.weight * (times / (times + SATURATION) + (inTitle ? TITLE : 0));
  }
  for (const [n, term] of terms.entries()) {
    const next = terms[n + 1];
    if (next === undefined) break;
    const isTogether = words.some((word, at) => matches(term, word) && matches(next, words[at + 1] ?? ""));
    if (isTogether) score += (TOGETHER * (term.weight + next.weight)) / 2;
  }
  // As it was written, marks included: "má" before "ma".
  const written = text.normalize("NFC").toLowerCase();
  const asked =
    query
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const exact = asked.filter((word) => written.includes(word)).length;
  return score + EXACT * exact;
}

/** The part of a text in which most of the terms stand, on one line. */
export function snippetOf(terms: readonly Term[], text: string, maxChars: number): string {
  const pieces = text.split(/(?<=[.!?。！？\n])/u).filter((piece) => piece.trim() !== "");
  const counts = pieces.map((piece) => {
    const words = wordsOf(piece);
    return terms.filter((term) => words.some((word) => matches(term, word))).length;
  });
  const best = counts.indexOf(Math.max(0, ...counts));
  const shown = pieces.slice(Math.max(0, best)).join("").replace(/\s+/g, " ").trim();
  return shown.length <= maxChars ? shown : `${cutText(shown, maxChars - 1)}…`;
}
