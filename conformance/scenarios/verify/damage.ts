/**
 * Damages vectors, to see that the verifier notices: finds the values that a vector promises (not those it
 * only sets out from) and changes one of them. Works on a copy.
 */

/** What a vector sets out from, or says for people: a change there may be as true as what was there. */
const GIVEN = new Set([
  "description",
  "scenario",
  "name",
  "where",
  "dialect",
  "options",
  "events",
  "event",
  "last",
  "chunks",
  "frame",
  "comment",
  "bad",
  "a",
  "b",
  "k",
]);

type Path = readonly string[];

/** Every value that is promised, as the path to it. */
export function promises(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => {
    // The text that a parser is given, in `sse.json`.
    const isGiven = GIVEN.has(key) || (key === "text" && path[0] === "parse");
    return isGiven && path.length <= 2 ? [] : promises(inner, [...path, key]);
  });
}

/** A copy with one value changed: a text or number grows, a truth turns, null becomes something. */
export function damaged(vector: unknown, path: Path): unknown {
  const copy: unknown = structuredClone(vector);
  let at = copy as Record<string, unknown>;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
  const last = path.at(-1) ?? "";
  const value = at[last];
  if (typeof value === "string") at[last] = `${value}!`;
  else if (typeof value === "number") at[last] = value + 1;
  else at[last] = typeof value === "boolean" ? !value : 0;
  return copy;
}

/** At most `count` of them, evenly spread, the first and the last among them. */
export function sample<Item>(items: readonly Item[], count: number): Item[] {
  if (items.length <= count) return [...items];
  const step = (items.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, n) => items[Math.round(n * step)] as Item);
}
