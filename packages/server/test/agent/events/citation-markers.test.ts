/**
 * Tests that citation markers are found in streamed text, however it is split, and that other text is not taken for
 * one.
 */
import type { Annotation, Json } from "@turnstream/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { ReferenceIdAllocator } from "../../../src/agent/run/reference-pool.ts";
import { MarkerScanner, markersIn, withoutMarkers } from "../../../src/agent/events/citation-markers.ts";

const isGiven = (id: number): boolean => [1, 2, 12, 999_999_999].includes(id);

function scan(pieces: readonly string[]) {
  const scanner = new MarkerScanner(isGiven);
  const texts: string[] = [];
  const annotations: Annotation[] = [];
  let pending = 0;
  for (const piece of pieces) {
    const scanned = scanner.push(piece);
    texts.push(scanned.text);
    // A writer may write annotations only for text that it has already written.
    for (const { end } of scanned.annotations) expect(end).toBeLessThanOrEqual(texts.join("").length);
    annotations.push(...scanned.annotations);
    const emitted = texts.join("").length;
    pending = Math.max(pending, pieces.slice(0, texts.length).join("").length - emitted);
  }
  texts.push(scanner.end());
  return { text: texts.join(""), annotations, pending };
}

test("T07 ids continue from a journal, also from entries without references", () => {
  const pool = [{ type: "text", text: "x", id: 7 }];
  const journal = new Map<string, Json>([
    ["call/plain", { status: "success", content: "x", pool: [] }],
    ["call/cited", { status: "success", content: "x", pool }],
    ["step/main/0", { text: "x" }],
  ]);
  expect(ReferenceIdAllocator.from(journal).next()).toBe(8);
});

describe("T07 citation markers in streamed text", () => {
  test("the answer of the tasks document is cited at the position of the marker, in UTF-16 units", () => {
    const text = "Paris has a clear sky, and the air is mild for the date.[^1]";
    expect(markersIn(text, isGiven)).toEqual([{ reference: 1, start: 56, end: 60 }]);
    expect(markersIn("👢🥾[^1]", isGiven)).toEqual([{ reference: 1, start: 4, end: 8 }]);
  });

  const none = [
    "[^0]",
    "[^01]",
    "[^3]",
    "[^999999999999]",
    "[^ 1]",
    "[^1",
    "[^1 ]",
    "[1]",
    "[^]",
    "[^x]",
    "^1]",
    "[^-1]",
    "[^1.0]",
    "[^１]",
  ];
  it.each(none)("%s is plain text", (text) => {
    expect(scan(text.split(""))).toMatchObject({ text, annotations: [] });
  });

  it.each([
    ["[^[^1]", [2, 6]],
    ["[[^12]]", [1, 6]],
    ["[^1][^2]", [0, 4, 4, 8]],
    ["[^12[^1]", [4, 8]],
    ["[^999999999]", [0, 12]],
  ] as const)("%s contains its markers", (text, places) => {
    const found = scan(text.split("")).annotations.flatMap(({ start, end }) => [start, end]);
    expect(found).toEqual([...places]);
  });

  test("any split gives the same citations, loses nothing, and delays at most eleven characters", () => {
    const bit = fc.constantFrom(
      "[",
      "^",
      "]",
      "1",
      "2",
      "0",
      "9",
      " ",
      "a",
      "👢",
      "[^1]",
      "[^12]",
      "[^",
      "[^999999999",
    );
    fc.assert(
      fc.property(fc.array(bit, { maxLength: 40 }), fc.array(fc.nat(5), { maxLength: 60 }), (bits, cuts) => {
        const text = bits.join("");
        const pieces: string[] = [];
        let rest = text;
        for (const cut of cuts) {
          pieces.push(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        const scanned = scan([...pieces, rest]);
        expect(scanned.text).toBe(text);
        expect(scanned.annotations).toEqual(markersIn(text, isGiven));
        expect(scanned.pending).toBeLessThanOrEqual(11);
        expect(scanned.annotations.every(({ start, end }) => text.slice(start, end).startsWith("[^"))).toBe(
          true,
        );
      }),
      { numRuns: 5_000 },
    );
  });

  test("a text without its markers is otherwise unchanged", () => {
    const text = "Sunny[^1], warm.[^12] [^3]";
    expect(withoutMarkers(text, markersIn(text, isGiven))).toBe("Sunny, warm. [^3]");
  });
});
