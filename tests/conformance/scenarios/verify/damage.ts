/**
 * `damaged` changes one value of a copy of a vector, to test that the verifier finds it. `promises` lists the values
 * that a vector asserts, without its inputs.
 */

/** Inputs of a vector and descriptions. A changed input can be as correct as the original. */
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
  "since",
]);

type Path = readonly string[];

/** The paths of all asserted values. */
export function promises(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => {
    // The input of the parser, in `sse.json`.
    const isGiven = GIVEN.has(key) || (key === "text" && path[0] === "parse");
    return isGiven && path.length <= 2 ? [] : promises(inner, [...path, key]);
  });
}

/** A copy with one value changed: a text gets longer, a number larger, a boolean is inverted, null becomes 0. */
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

/** At most `count` items, evenly spread, including the first and the last. */
export function sample<Item>(items: readonly Item[], count: number): Item[] {
  if (items.length <= count) return [...items];
  const step = (items.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, n) => items[Math.round(n * step)] as Item);
}
