/**
 * Puts marks in place of citations before Markdown is read, and finds them again in what was read: `[^3]` would otherwise
 * be taken for a footnote, or for a link. Pure.
 */
import type { Annotation } from "@turnstream/protocol";

// Punctuation, as the brackets are: whether `**` before it ends something bold depends on it.
const OPEN = "⁅";
const CLOSE = "⁆";
/** Which annotation, and what it refers to; as it is in text, and as it is in an address. */
const MARK = /(?:⁅|%E2%81%85)(\d+)x(\d+)(?:⁆|%E2%81%86)/gi;

/** A piece's text with marks that say which annotation it is. Who writes a mark cites, as with `[^3]`: no harm is done. */
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

/** They come in the order of the text. */
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

/** Text and marks by turns. */
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

/** As it was written, for places where there can be no citation: code, addresses. */
export function withoutMarks(text: string): string {
  return text.replaceAll(MARK, (_mark, _n, reference: string) => `[^${reference}]`);
}

/** The number that is shown for each cited item: from 1, in the order in which the text first cites them. */
export function numberReferences(annotations: readonly Annotation[]): ReadonlyMap<number, number> {
  const numbers = new Map<number, number>();
  for (const { reference } of annotations)
    if (!numbers.has(reference)) numbers.set(reference, numbers.size + 1);
  return numbers;
}
