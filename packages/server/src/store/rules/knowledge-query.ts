/**
 * Questions to a knowledge base: what may be asked, and how the pieces that a store found become an answer. Pure, and the
 * same for every store, so that they answer alike.
 */
import { StoreError } from "../errors.ts";
import { type KnowledgeHit, MAX_BASES, MAX_HITS, MAX_LINES, MAX_QUERY_CHARS } from "../ports/knowledge.ts";
import { checkCount, checkLimit } from "./arguments.ts";
import { scoreOf, snippetOf, type Weighed } from "./search-rank.ts";
import { type Term, termsOf } from "./search.ts";

/** How many pieces are looked at closely. */
export const CANDIDATES = 100;
const PER_OBJECT = 3;
const SNIPPET_CHARS = 240;

export type FoundChunk = Omit<KnowledgeHit, "snippet" | "score"> & { readonly n: number };

export function checkQuery(
  bases: readonly string[],
  { words, limit }: { readonly words: string; readonly limit: number },
): { readonly terms: Term[]; readonly limit: number } {
  if (bases.length === 0 || bases.length > MAX_BASES)
    throw new StoreError("INVALID", `a search is in 1 to ${MAX_BASES} bases`);
  if (words.length > MAX_QUERY_CHARS) throw new StoreError("TOO_LARGE", "the words of a search");
  return { terms: termsOf(words), limit: checkLimit(limit, MAX_HITS) };
}

export function checkRange({ from, to }: { readonly from: number; readonly to: number }): void {
  checkCount(from, "from");
  checkCount(to, "to");
  if (from < 1 || to < from || to - from >= MAX_LINES)
    throw new StoreError("INVALID", `lines are counted from 1, and at most ${MAX_LINES} are read at a time`);
}

export function hitsOf(
  chunks: readonly FoundChunk[],
  terms: readonly Weighed[],
  words: string,
  limit: number,
): KnowledgeHit[] {
  const ranked = chunks
    .map((chunk) => ({ chunk, score: scoreOf(terms, words, chunk) }))
    .toSorted((a, b) => b.score - a.score || compare(a.chunk, b.chunk));
  const taken = new Map<string, number>();
  const hits: KnowledgeHit[] = [];
  for (const { chunk, score } of ranked) {
    const { n: _, ...found } = chunk;
    const key = `${found.base}\0${found.object}`;
    const count = taken.get(key) ?? 0;
    if (count >= PER_OBJECT) continue;
    taken.set(key, count + 1);
    hits.push({
      ...found,
      score: Math.round(score * 1_000) / 1_000,
      snippet: snippetOf(terms, found.text, SNIPPET_CHARS),
    });
    if (hits.length >= limit) break;
  }
  return hits;
}

function compare(a: FoundChunk, b: FoundChunk): number {
  const [one, other] = [`${a.base}\0${a.object}`, `${b.base}\0${b.object}`];
  return one === other ? a.n - b.n : one < other ? -1 : 1;
}

/** Of pieces that were read for a range: just its lines. */
export function linesWithin(
  chunks: readonly { readonly firstLine: number; readonly text: string }[],
  { from, to }: { readonly from: number; readonly to: number },
): string[] {
  return chunks.flatMap(({ firstLine, text }) =>
    text.split("\n").filter((_, n) => firstLine + n >= from && firstLine + n <= to),
  );
}
