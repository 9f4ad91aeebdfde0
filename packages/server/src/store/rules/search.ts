/**
 * Text as words that can be looked for, made here and not by the database, so that every store finds the same, whatever
 * the language and the server's configuration. Pure. Never ranks.
 *
 * - Case, width and the marks on Latin letters don't count: "Ha Noi" finds "Hà Nội".
 * - Scripts without spaces (Chinese, Japanese, Thai …) become pairs of neighbouring characters.
 */

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
export function wordsOf(text: string): string[] {
  return runsOf(text).flatMap(({ word, isUnspaced }) => (isUnspaced ? pairsOf(word) : [word]));
}

/** The distinct terms of a query, at most MAX_TERMS. */
export function termsOf(query: string): Term[] {
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
    .map((one, n) => ({ word: `${one}${characters[n + 1] ?? ""}`, isPrefix: false }));
}

/** The last character stands alone as well: nothing else begins with it. */
function pairsOf(word: string): string[] {
  const characters = Array.from(word);
  return characters.map((one, n) => `${one}${characters[n + 1] ?? ""}`);
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
