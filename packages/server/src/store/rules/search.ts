/**
 * Text as words that can be looked for, made here and not by the database, so that every store finds the same, whatever
 * the language and the server's configuration. Pure. Never ranks.
 *
 * - Case, width and the marks on Latin letters don't count: "Ha Noi" finds "Hà Nội".
 * - Scripts without spaces (Chinese, Japanese, Thai …) become pairs of neighbouring characters.
 */
import { truncateText } from "@turnstream/protocol/writer";

/** What a query looks for: a word, or any that begins with it. */
export interface Term {
  readonly word: string;
  readonly isPrefix: boolean;
}

export const MAX_TERMS = 16;
const MAX_WORD = 64;
/** Shorter ones begin too many words. */
const MIN_PREFIX = 3;
/** A plural finds its singular from this length on. */
const MIN_PLURAL = 5;

const RUN = /[\p{L}\p{M}\p{N}]+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc]+/gu;
const LATIN_MARKS = /[\u0300-\u036f]/g;
const LETTERS: Readonly<Record<string, string>> = {
  đ: "d",
  ł: "l",
  ø: "o",
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ı: "i",
};

/** In the order of the text, repeats included. */
export function tokenize(text: string): string[] {
  return runsOf(text).flatMap(({ word, isUnspaced }) => (isUnspaced ? pairsOf(word) : [word]));
}

/** The distinct terms of a query, at most MAX_TERMS. */
export function queryTerms(query: string): Term[] {
  const terms = new Map<string, Term>();
  for (const { word, isUnspaced } of runsOf(query))
    for (const term of isUnspaced ? unspacedTerms(word) : [spacedTerm(word)]) terms.set(term.word, term);
  return [...terms.values()].slice(0, MAX_TERMS);
}

export function matches({ word, isPrefix }: Term, found: string): boolean {
  return isPrefix ? found.startsWith(word) : found === word;
}

function spacedTerm(word: string): Term {
  const isPlural = word.length >= MIN_PLURAL && /[a-z]s$/.test(word) && !word.endsWith("ss");
  const stem = isPlural ? word.slice(0, -1) : word;
  return { word: stem, isPrefix: stem.length >= MIN_PREFIX && !/^\p{N}+$/u.test(stem) };
}

/** One character alone is the beginning of a pair; of several, the pairs themselves. */
function unspacedTerms(word: string): Term[] {
  const characters = Array.from(word);
  if (characters.length === 1) return [{ word, isPrefix: true }];
  return characters
    .slice(0, -1)
    .map((character, n) => ({ word: `${character}${characters[n + 1] ?? ""}`, isPrefix: false }));
}

/** The last character stands alone as well: nothing else begins with it. */
function pairsOf(word: string): string[] {
  const characters = Array.from(word);
  return characters.map((character, n) => `${character}${characters[n + 1] ?? ""}`);
}

function runsOf(text: string): { readonly word: string; readonly isUnspaced: boolean }[] {
  return (folded(text).match(RUN) ?? []).flatMap((run) => {
    const parts: { word: string; isUnspaced: boolean }[] = [];
    let end = 0;
    const addSpaced = (word: string): void => {
      if (word !== "") parts.push({ word: Array.from(word).slice(0, MAX_WORD).join(""), isUnspaced: false });
    };
    for (const { 0: word, index } of run.matchAll(UNSPACED)) {
      addSpaced(run.slice(end, index));
      parts.push({ word, isUnspaced: true });
      end = index + word.length;
    }
    addSpaced(run.slice(end));
    return parts;
  });
}

function folded(text: string): string {
  return text
    .normalize("NFKD")
    .replace(LATIN_MARKS, "")
    .normalize("NFC")
    .toLowerCase()
    .replace(/[đłøßæœı]/g, (letter) => LETTERS[letter] ?? letter);
}

/**
 * Which of the found pieces come first: a term counts the more the rarer it is, words that stand together count more
 * than apart, and a title counts as well. Pure, and the same for every store.
 */
/** How far a term's pieces are counted: one that is in more of them tells little. */
export const COMMON = 1_000;

/** A term with what it is worth. */
export interface WeightedTerm extends Term {
  readonly weight: number;
}

/** @param counts in how many pieces each term is, counted up to COMMON or a little more */
export function weightTerms(terms: readonly Term[], counts: readonly number[]): WeightedTerm[] {
  return terms.map((term, n) => ({ ...term, weight: Math.log(1 + (2 * COMMON) / (1 + (counts[n] ?? 0))) }));
}

/** The terms to look for: rare ones if there are any, since common ones would find almost everything. */
export function selectiveTerms(terms: readonly Term[], counts: readonly number[]): Term[] {
  const known = terms.filter((_, n) => (counts[n] ?? 0) > 0);
  const rare = terms.filter((_, n) => (counts[n] ?? 0) > 0 && (counts[n] ?? 0) <= COMMON);
  return rare.length > 0 ? rare : known;
}

const SATURATION = 1.2;
const TITLE = 0.5;
const TOGETHER = 0.5;
const EXACT = 0.2;

export function scoreOf(
  terms: readonly WeightedTerm[],
  query: string,
  { title, text }: { readonly title: string; readonly text: string },
): number {
  const tokens = tokenize(text);
  const titleTokens = tokenize(title);
  let score = 0;
  for (const term of terms) {
    const times = tokens.filter((word) => matches(term, word)).length;
    const inTitle = titleTokens.some((word) => matches(term, word));
    score += term.weight * (times / (times + SATURATION) + (inTitle ? TITLE : 0));
  }
  for (const [n, term] of terms.entries()) {
    const next = terms[n + 1];
    if (next === undefined) break;
    const isTogether = tokens.some((word, at) => matches(term, word) && matches(next, tokens[at + 1] ?? ""));
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
    const tokens = tokenize(piece);
    return terms.filter((term) => tokens.some((word) => matches(term, word))).length;
  });
  const best = counts.indexOf(Math.max(0, ...counts));
  const shown = pieces.slice(Math.max(0, best)).join("").replace(/\s+/g, " ").trim();
  return shown.length <= maxChars ? shown : `${truncateText(shown, maxChars - 1)}…`;
}
