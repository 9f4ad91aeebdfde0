/**
 * `tokenize`, `scoreOf` and `snippetOf` tokenize, rank and excerpt text for searches in memories, history and knowledge
 * bases. Pure. They run here and not in the database, so that every server finds the same, whatever its configuration.
 *
 * - Case, width and the marks on Latin letters are ignored: "Ha Noi" finds "Hà Nội".
 * - Scripts without spaces (Chinese, Japanese, Thai …) become pairs of adjacent characters.
 *
 * Invariant: `@turnstream/knowledge` stores tokens, so another tokenization needs another `VERSION` there. Tokens contain
 * only letters, marks and digits, because PostgreSQL queries contain them unescaped.
 */
import { truncateText } from "@turnstream/protocol/writer";

/** One term of a query: a token, or a prefix of tokens. */
export interface Term {
  readonly word: string;
  readonly isPrefix: boolean;
}

export const MAX_TERMS = 16;
const MAX_WORD = 64;
/** Shorter prefixes match too many tokens. */
const MIN_PREFIX = 3;
/** From this length on, a plural finds its singular. */
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

/** Returns the tokens in the order of the text, including repeats. */
export function tokenize(text: string): string[] {
  return runsOf(text).flatMap(({ word, isUnspaced }) => (isUnspaced ? pairsOf(word) : [word]));
}

/** Returns the distinct terms of a query, at most MAX_TERMS. */
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

/** A single character becomes a prefix of pairs; several become their pairs. */
function unspacedTerms(word: string): Term[] {
  const characters = Array.from(word);
  if (characters.length === 1) return [{ word, isPrefix: true }];
  return characters
    .slice(0, -1)
    .map((character, n) => ({ word: `${character}${characters[n + 1] ?? ""}`, isPrefix: false }));
}

/** The last character is also a token of its own, because no pair starts with it. */
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

/** Up to how many chunks a term is counted. A term in more chunks distinguishes little. */
export const COMMON = 1_000;

/** A term with its weight: the rarer the term, the higher. */
export interface WeightedTerm extends Term {
  readonly weight: number;
}

/** @param counts in how many chunks each term occurs, counted up to COMMON or a little more */
export function weightTerms(terms: readonly Term[], counts: readonly number[]): WeightedTerm[] {
  return terms.map((term, n) => ({ ...term, weight: Math.log(1 + (2 * COMMON) / (1 + (counts[n] ?? 0))) }));
}

const SATURATION = 1.2;
const TITLE = 0.5;
const TOGETHER = 0.5;
const EXACT = 0.2;

/** Ranks a chunk. Rare terms, adjacent terms, terms in the title and exact spellings score higher. */
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
  // Compare the original text, including marks: "má" ranks before "ma".
  const written = text.normalize("NFC").toLowerCase();
  const asked =
    query
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const exact = asked.filter((word) => written.includes(word)).length;
  return score + EXACT * exact;
}

/** Returns the part of a text that contains most of the terms, on one line. */
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

/** Returns the items that match at least one term, best first. Equal ones keep their order. */
export function rankByTerms<T extends { readonly text: string }>(items: readonly T[], query: string): T[] {
  const terms = queryTerms(query);
  const found = items.flatMap((item) => {
    const words = tokenize(item.text);
    const hits = terms.map((term) => words.some((word) => matches(term, word)));
    return hits.includes(true) ? [{ item, hits }] : [];
  });
  const counts = terms.map((_, n) => found.filter(({ hits }) => hits[n] === true).length);
  const weighed = weightTerms(terms, counts);
  return found
    .map(({ item }) => ({ item, score: scoreOf(weighed, query, { title: "", text: item.text }) }))
    .toSorted((a, b) => b.score - a.score)
    .map(({ item }) => item);
}
