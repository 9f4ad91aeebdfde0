/**
 * `MarkerScanner` finds `[^n]` citations in streamed text. `markersIn` does the same for complete text. Pure.
 *
 * Invariant: the result doesn't depend on how the text is split. The end of a delta that may become a marker waits for
 * the next delta. Markdown is not parsed: `[^n]` is a citation wherever n is a reference that the run was given.
 */
import type { Annotation } from "@turnstream/protocol";

/** At most nine digits and no leading zero, like every allocated id. */
const MARKER = /\[\^([1-9]\d{0,8})\]/g;
const PARTIAL_MARKER = /\[(?:\^(?:[1-9]\d{0,8})?)?$/;

export interface ScanResult {
  readonly text: string;
  /** The citations whose markers end in this text. Positions refer to the whole block. */
  readonly annotations: readonly Annotation[];
}

/** Scans one text block. */
export class MarkerScanner {
  readonly #isGiven: (id: number) => boolean;
  #pending = "";
  #length = 0;

  /** @param isGiven returns true if the run was given this reference; it must not change during the block */
  constructor(isGiven: (id: number) => boolean) {
    this.#isGiven = isGiven;
  }

  push(delta: string): ScanResult {
    const all = this.#pending + delta;
    const pendingFrom = PARTIAL_MARKER.exec(all)?.index ?? all.length;
    this.#pending = all.slice(pendingFrom);
    const text = all.slice(0, pendingFrom);
    const annotations = markersIn(text, this.#isGiven).map(({ reference, start, end }) => ({
      reference,
      start: start + this.#length,
      end: end + this.#length,
    }));
    this.#length += text.length;
    return { text, annotations };
  }

  /** Call it at the end of the text. @returns the remaining text, which is not a marker */
  end(): string {
    const rest = this.#pending;
    this.#pending = "";
    this.#length += rest.length;
    return rest;
  }
}

/** Returns the citations of a complete text. */
export function markersIn(text: string, isGiven: (id: number) => boolean): Annotation[] {
  return [...text.matchAll(MARKER)].flatMap(({ 0: marker, 1: id, index }) =>
    isGiven(Number(id)) ? [{ reference: Number(id), start: index, end: index + marker.length }] : [],
  );
}

/** Removes the markers of citations from a text. */
export function withoutMarkers(text: string, annotations: readonly Annotation[]): string {
  let rest = text;
  for (const { start, end } of annotations.toSorted((a, b) => b.start - a.start))
    rest = rest.slice(0, start) + rest.slice(end);
  return rest;
}
