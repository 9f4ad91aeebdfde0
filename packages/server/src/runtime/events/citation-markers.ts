/**
 * Finds `[^n]` in text while it streams. The same text gives the same citations however it is cut: the end of a piece that
 * may still become a marker waits for the next one. It knows no Markdown: what looks like a marker and names a reference
 * that the run was given is one. Pure; never reads a log.
 */
import type { Annotation } from "@turnstream/protocol";

/** At most nine digits and no leading zero: every such number is an id that could have been given. */
const MARKER = /\[\^([1-9]\d{0,8})\]/g;
const PARTIAL_MARKER = /\[(?:\^(?:[1-9]\d{0,8})?)?$/;

export interface ScanResult {
  readonly text: string;
  /** Citations whose marker this text completes; positions are those in the whole text. */
  readonly annotations: readonly Annotation[];
}

/** One for each block of text. */
export class MarkerScanner {
  readonly #isGiven: (id: number) => boolean;
  #pending = "";
  #length = 0;

  /** @param isGiven whether the run was given a reference of this id; the same for the whole block */
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

  /** The text is complete. @returns what waited, and is no marker after all */
  end(): string {
    const rest = this.#pending;
    this.#pending = "";
    this.#length += rest.length;
    return rest;
  }
}

/** The citations of a text that is complete. */
export function markersIn(text: string, isGiven: (id: number) => boolean): Annotation[] {
  return [...text.matchAll(MARKER)].flatMap(({ 0: marker, 1: id, index }) =>
    isGiven(Number(id)) ? [{ reference: Number(id), start: index, end: index + marker.length }] : [],
  );
}

/** Leaves the markers of citations out. */
export function withoutMarkers(text: string, annotations: readonly Annotation[]): string {
  let rest = text;
  for (const { start, end } of annotations.toSorted((a, b) => b.start - a.start))
    rest = rest.slice(0, start) + rest.slice(end);
  return rest;
}
