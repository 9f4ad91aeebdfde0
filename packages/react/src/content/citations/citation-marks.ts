/**
 * `withMarks` replaces citations with marks before Markdown is parsed, and `findMarks` finds the marks in the result.
 * Without marks, `[^3]` would be parsed as a footnote or a link. Pure.
 * Invariant: marks are punctuation, so emphasis around them is parsed as before. `withoutMarks` restores the text in
 * code and addresses. A mark that the answer itself contains can only create a citation.
 */
import type { Annotation } from "@turnstream/protocol";

// Marks are punctuation like the brackets that they replace, because this decides whether a `**` before them closes
// bold text.
const OPEN = "⁅";
const CLOSE = "⁆";
/** Matches a mark (annotation index and reference id), as text and percent-encoded in an address. */
const MARK = /(?:⁅|%E2%81%85)(\d+)x(\d+)(?:⁆|%E2%81%86)/gi;

/**
 * Returns a piece of text with its citations replaced by marks. Text that contains a mark itself only creates a
 * citation, like `[^3]`, which is harmless.
 */
export function withMarks(raw: string, at: number, annotations: readonly Annotation[]): string {
  if (annotations.length === 0) return raw;
  let marked = "";
  let done = 0;
  for (let n = findFirstFrom(annotations, at); n < annotations.length; n++) {
    const { start, end, reference } = annotations[n] as Annotation;
    if (start >= at + raw.length) break;
    if (start - at < done || end - at > raw.length || end <= start) continue;
    marked += `${raw.slice(done, start - at)}${OPEN}${n}x${reference}${CLOSE}`;
    done = end - at;
  }
  return marked + raw.slice(done);
}

/** Returns true if the text between two offsets gets the same marks from both lists. */
export function hasSameMarks(
  some: readonly Annotation[],
  others: readonly Annotation[],
  from: number,
  to: number,
): boolean {
  if (some === others) return true;
  const first = findFirstFrom(some, from);
  if (first !== findFirstFrom(others, from)) return false;
  for (let n = first; ; n++) {
    const [one, other] = [some[n], others[n]];
    const isOutside = (annotation?: Annotation): boolean =>
      annotation === undefined || annotation.start >= to;
    if (isOutside(one) && isOutside(other)) return true;
    if (one?.start !== other?.start || one?.end !== other?.end || one?.reference !== other?.reference)
      return false;
  }
}

/** Binary search: annotations are in the order of the text. */
function findFirstFrom(annotations: readonly Annotation[], at: number): number {
  let low = 0;
  let high = annotations.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((annotations[middle]?.start ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the text and the annotation indexes of the marks, in order. */
export function findMarks(text: string): (string | number)[] {
  const found: (string | number)[] = [];
  let done = 0;
  for (const match of text.matchAll(MARK)) {
    if (match.index > done) found.push(text.slice(done, match.index));
    found.push(Number(match[1]));
    done = match.index + match[0].length;
  }
  if (done < text.length) found.push(text.slice(done));
  return found;
}

/** Restores the original text, for places without citations: code and addresses. */
export function withoutMarks(text: string): string {
  return text.replaceAll(MARK, (_mark, _n, reference: string) => `[^${reference}]`);
}
