/** `rankByTerms` selects and sorts what a built-in tool searches. Pure. */
import { matches, queryTerms, scoreOf, tokenize, weightTerms } from "../../store/rules/search.ts";

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
