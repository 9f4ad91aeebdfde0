/** Compares `stripToolTags` and `stripChunk` with a reference that uses regular expressions. Does not measure time. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emptyTagScanner, stripChunk, stripEnd, stripToolTags } from "../src/dialects/responses/tool-tags.ts";

/** Strips the whole text at once. At each position it skips a tag with its span, or copies one character. */
function reference(text: string): string {
  const opening = /<tool(?=[ \t\n\r\f/>])(?:[^<>"']|"[^"]*"|'[^']*')*>/y;
  const closing = /<\/tool[ \t\n\r\f]*>/g;
  let out = "";
  for (let at = 0; at < text.length;) {
    opening.lastIndex = at;
    const tag = opening.exec(text)?.[0];
    if (tag === undefined || tag.length > 4096) {
      out += text.charAt(at);
      at += 1;
    } else if (tag.endsWith("/>")) {
      at += tag.length;
    } else {
      closing.lastIndex = at + tag.length;
      at = closing.test(text) ? closing.lastIndex : text.length;
    }
  }
  return out;
}

function stream(chunks: readonly string[]): { pieces: string[]; scanner: typeof emptyTagScanner } {
  let scanner = emptyTagScanner;
  const pieces = chunks.map((chunk) => {
    const result = stripChunk(Object.freeze(scanner), chunk);
    scanner = result.scanner;
    return result.text;
  });
  return { pieces, scanner };
}

const token = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom("<tool", "</tool", "</tool>", "<tool>", "<tool ", "/>", ">", "<", "/"),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom('"', "'", " ", "\n", "=", "a", "tool", "<t", "<to", "s", "\u00a0", "é"),
  },
);
const filler = fc.constantFrom(1020, 2040, 3060, 4080, 4090).map((length) => "x".repeat(length));
const text = fc.array(token, { maxLength: 40 }).map((parts) => parts.join(""));
const longText = fc
  .array(fc.oneof({ weight: 8, arbitrary: token }, { weight: 2, arbitrary: filler }), { maxLength: 40 })
  .map((parts) => parts.join(""));
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });

function cut(whole: string, lengths: readonly number[]): string[] {
  const chunks: string[] = [];
  for (let at = 0, i = 0; at < whole.length; i += 1) {
    const size = lengths[i % lengths.length] ?? 1;
    chunks.push(whole.slice(at, at + size));
    at += size;
  }
  return chunks;
}

describe("stripToolTags", () => {
  test.each([
    ["", ""],
    ["plain", "plain"],
    ["a<tool>x</tool>b", "ab"],
    ['a<tool name="search" id=\'1\'>{"q": "<b>"}</tool>b', "ab"],
    ["a<tool/>b<tool />c<tool x='/>'/>d", "abcd"],
    ["a<tool x='/'>hidden</tool>b", "ab"],
    ['a<tool x="it\'s >">hidden</tool>b', "ab"],
    ["<tool\n a=1\n>x</tool \n>y", "y"],
    ["<tool>a<tool>b</tool>c</tool>", "c</tool>"],
    ["<tool>a</toolbox>b</ tool>c</tool", ""],
    ["a < b > c", "a < b > c"],
    ["<toolbox>x</toolbox><tools>y</tools>", "<toolbox>x</toolbox><tools>y</tools>"],
    ["<Tool>x</Tool>", "<Tool>x</Tool>"],
    ["<to", "<to"],
    ["a<", "a<"],
    ["<tool", "<tool"],
    ["<tool a='1", "<tool a='1"],
    ["a<tool x>never closed", "a"],
    ["a</tool>b", "a</tool>b"],
    ["<tool <tool>x</tool>y", "<tool y"],
    ["<<tool>x</tool>y", "<y"],
    ["<to<tool>x</tool>ol>", "<tool>"],
    ["<tool '<tool>x</tool>", "<tool '"],
    ["<tool>x<</tool>y", "y"],
    ["<tool>x</tool</tool>y", "y"],
    ["<tool>x</tool x></tool>y", "y"],
  ])("returns for %j: %j", (whole, stripped) => {
    expect(stripToolTags(whole)).toBe(stripped);
    expect(reference(whole)).toBe(stripped);
  });

  test("returns the same as the reference", () => {
    fc.assert(
      fc.property(text, (whole) => {
        expect(stripToolTags(whole)).toBe(reference(whole));
      }),
      { numRuns: 5000 },
    );
    fc.assert(
      fc.property(longText, (whole) => {
        expect(stripToolTags(whole)).toBe(reference(whole));
      }),
      { numRuns: 500 },
    );
  });

  test("returns the text between spans and nothing of the spans", () => {
    const between = fc.string({ unit: fc.constantFrom("a", "b", " ", ">", '"', "'", "/", "\n") });
    const attributes = fc.constantFrom("", " ", " a='<>'", ' b="</tool>"', "\nc=d ");
    const body = fc.constantFrom(
      "",
      "SECRET",
      "<SECRET",
      "</SECRET>",
      "<tool>SECRET",
      "'SECRET",
      "</tool SECRET",
    );
    const parts = fc.array(fc.tuple(between, attributes, body));
    fc.assert(
      fc.property(parts, sizes, (all, lengths) => {
        const whole = all.map(([shown, a, b]) => `${shown}<tool${a}>${b}</tool>`).join("");
        const { pieces, scanner } = stream(cut(whole, lengths));
        expect(pieces.join("")).toBe(all.map(([shown]) => shown).join(""));
        expect(scanner).toEqual(emptyTagScanner);
      }),
    );
  });
});

describe("stripChunk", () => {
  test("returns the same text and scanner for any chunk boundaries", () => {
    fc.assert(
      fc.property(fc.oneof(text, longText), sizes, (whole, lengths) => {
        const once = stripChunk(emptyTagScanner, whole);
        const { pieces, scanner } = stream(cut(whole, lengths));
        expect(pieces.join("")).toBe(once.text);
        expect(scanner).toStrictEqual(once.scanner);
        expect(once.text + stripEnd(once.scanner)).toBe(reference(whole));
      }),
      { numRuns: 1000 },
    );
  });

  test("buffers only text that may become a tag", () => {
    fc.assert(
      fc.property(longText, (whole) => {
        const { scanner } = stripChunk(emptyTagScanner, whole);
        expect(scanner.buffered.length).toBeLessThan(4096);
        const mayBecomeTag =
          /^(<(t(o(o(l([ \t\n\r\f/]([^<>"']|"[^"]*"|'[^']*')*("[^"]*|'[^']*)?)?)?)?)?)?)?$/;
        expect(scanner.buffered).toMatch(mayBecomeTag);
      }),
    );
  });

  test("returns text as soon as it can't be a tag", () => {
    expect(stream(["a ", "<", " b", "<t", "o", "p", "<tool", "s", "<tool x", "<"]).pieces).toEqual([
      "a ",
      "",
      "< b",
      "",
      "",
      "<top",
      "",
      "<tools",
      "",
      "<tool x",
    ]);
  });

  test("returns no text inside a span", () => {
    const { pieces, scanner } = stream(["<tool>", "abc", "</to", "ol", "   ", "  ", ">", "d"]);
    expect(pieces).toEqual(["", "", "", "", "", "", "", "d"]);
    expect(scanner).toEqual(emptyTagScanner);
    expect(stream(["<tool>abc</tool  "]).scanner).toEqual({
      mode: "span",
      buffered: "",
      quote: "",
      matched: 6,
    });
  });

  test.each([
    [4096, ""],
    [4097, "shown"],
  ])("strips an opening tag of at most 4,096 units: %i units", (size, expected) => {
    const tag = `<tool ${"x".repeat(size - 7)}>`;
    expect(tag).toHaveLength(size);
    const whole = `${tag}${"y".repeat(10)}</tool>`;
    const shown = expected === "" ? "" : whole;
    expect(stripToolTags(whole)).toBe(shown);
    expect(stream(cut(whole, [7])).pieces.join("")).toBe(shown);
  });

  test("an unclosed quote becomes text at the limit, and the tags in it are stripped", () => {
    const whole = `<tool it's ${"<tool>x</tool>-".repeat(400)}`;
    const { pieces, scanner } = stream(cut(whole, [1]));
    expect(pieces.slice(0, 4095).join("")).toBe("");
    expect(pieces.join("")).toBe(`<tool it's ${"-".repeat(400)}`);
    expect(scanner).toEqual(emptyTagScanner);
  });
});
