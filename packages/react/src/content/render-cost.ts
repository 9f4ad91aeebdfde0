/**
 * `findCostEnd` estimates how much CPU time Markdown takes to render, so that no piece and no slice of an answer takes
 * long. `findSliceEnd` returns where a slice ends.
 * Invariant: reads every character at most once, and depends only on the text. One unit is about a microsecond of an
 * idle core. Pure.
 */

/** What one slice may cost: a page draws a long answer in slices, and handles input between them. */
const SLICE_COST = 10_000;
/** The first slice is longer, because a server draws no other. */
const FIRST_SLICE_COST = 12_000;

/** A line can be a block, which is parsed on its own. An empty line can't. */
const LINE_COST = 200;
/** Costs of characters that can become an element, or that the parser compares with each other. All others cost 1. */
const MARK_COSTS: Readonly<Record<string, number>> = {
  "*_`~]<&|!\\": 25,
  // A line can nest many lists and quotations.
  ">-+.)": 40,
  "#": 5,
  // They are rare in prose, and links are expensive.
  ":/": 60,
  // A formula, if a plugin draws formulas.
  $: 60,
  "[": 100,
  "@": 150,
};
/** For `www`, which starts an address too. */
const DOUBLE_W_COST = 80;

const COSTS = new Uint8Array(128).fill(1);
for (const [marks, cost] of Object.entries(MARK_COSTS))
  for (const mark of marks) COSTS[mark.charCodeAt(0)] = cost;
const [NEW_LINE, W] = [10, 119];

/** Returns the offset at which the text from `from` on exceeds the cost, or the length of the text. */
export function findCostEnd(text: string, from: number, maxCost: number): number {
  let cost = 0;
  let before = NEW_LINE;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === NEW_LINE && before !== NEW_LINE) cost += LINE_COST;
    else if (code === W && before === W) cost += DOUBLE_W_COST;
    else cost += COSTS[code] ?? 1;
    if (cost > maxCost) return at;
    before = code;
  }
  return text.length;
}

/**
 * Returns a good offset for a cut in (`from`, `end`]: after the last line break of the second half, otherwise `end`.
 * @param end greater than `from`
 */
export function findCut(text: string, from: number, end: number): number {
  if (end >= text.length) return text.length;
  const lineEnd = text.lastIndexOf("\n", end - 1) + 1;
  if (lineEnd > (from + end) / 2) return lineEnd;
  // Not between the two halves of a character.
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code < 0xe000 && end - 1 > from ? end - 1 : end;
}

/** Returns the end of the slice that starts at `from`. */
export function findSliceEnd(text: string, from: number): number {
  return findCut(
    text,
    from,
    Math.max(from + 1, findCostEnd(text, from, from === 0 ? FIRST_SLICE_COST : SLICE_COST)),
  );
}
