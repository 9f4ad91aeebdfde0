/** Tests the pure functions of search: terms and ranks for text of any language. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";

import { matches, MAX_TERMS, snippetOf, queryTerms, tokenize } from "../../../src/agent/built-in/search.ts";

describe("search terms", () => {
  test.each([
    ["Hà Nội, Đà Nẵng!", ["ha", "noi", "da", "nang"]],
    ["營業時間", ["營業", "業時", "時間", "間"]],
    ["iPhone15手機 ＡＢＣ", ["iphone15", "手機", "機", "abc"]],
    ["がぎ", ["がぎ", "ぎ"]],
    ["ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย", "ย"]],
    ["한국어 검색", ["한국어", "검색"]],
    ["naïve Straße Łódź", ["naive", "strasse", "lodz"]],
    ["' & | ! ~ :* ()", []],
  ])("of %s", (text, tokens) => {
    expect(tokenize(text)).toEqual(tokens);
  });

  test("of a query are few, distinct, and match prefixes", () => {
    expect(queryTerms("Invoices invoice 2024 of class")).toEqual([
      { word: "invoice", isPrefix: true },
      { word: "2024", isPrefix: false },
      { word: "of", isPrefix: false },
      { word: "class", isPrefix: true },
    ]);
    expect(queryTerms("間")).toEqual([{ word: "間", isPrefix: true }]);
    expect(queryTerms(Array.from({ length: 100 }, (_, n) => `w${n}`).join(" "))).toHaveLength(MAX_TERMS);
  });

  test("any term of a text finds that text, and no term needs quoting", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const tokens = tokenize(text);
        expect(tokens.every((word) => /^[\p{L}\p{M}\p{N}]+$/u.test(word))).toBe(true);
        for (const term of queryTerms(text)) expect(tokens.some((word) => matches(term, word))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("a snippet is around the matching terms", () => {
  const text = `${"Nothing here. ".repeat(50)}The heron eats frogs. ${"More. ".repeat(50)}`;
  expect(snippetOf(queryTerms("heron frogs"), text, 60)).toMatch(/^The heron eats frogs[.]/);
  expect(snippetOf(queryTerms("heron"), text, 60).length).toBeLessThanOrEqual(60);
});
