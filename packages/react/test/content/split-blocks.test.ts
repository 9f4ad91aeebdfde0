/** Tests that appended Markdown changes only the last pieces, and that no character is lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { definitionsFor, EMPTY_SPLIT, type Split, splitBlocks } from "../../src/content/split-blocks.ts";
import { cutAt, randomMarkdown } from "./random-markdown.ts";

const pieces = ({ chunks }: Split) => chunks.flat();
const code = (text: string) => pieces(splitBlocks(EMPTY_SPLIT, text))[0]?.code;

test("text that grows in random steps ends with the same pieces as text split at once", () => {
  fc.assert(
    fc.property(randomMarkdown, fc.array(fc.nat(300), { maxLength: 40 }), (text, cuts) => {
      let split = EMPTY_SPLIT;
      for (const prefix of cutAt(text, cuts)) split = splitBlocks(split, prefix);
      const once = splitBlocks(EMPTY_SPLIT, text);
      expect(pieces(split)).toEqual(pieces(once));
      expect(split.definitions).toEqual(once.definitions);
    }),
    { numRuns: 1_000 },
  );
});

test("text that grows character by character always has the same pieces as text split at once", () => {
  fc.assert(
    fc.property(randomMarkdown, (text) => {
      let split = EMPTY_SPLIT;
      for (let end = 1; end <= text.length; end++) {
        split = splitBlocks(split, text.slice(0, end));
        expect(pieces(split)).toEqual(pieces(splitBlocks(EMPTY_SPLIT, text.slice(0, end))));
      }
    }),
    { numRuns: 100 },
  );
});

test("a line of dashes joins everything above it, up to a blank line, into one piece", () => {
  const text = 'price\n<!-- --> -->\n[a]: https://d.example "t"\n-';
  let split = EMPTY_SPLIT;
  for (let end = 1; end <= text.length; end++) split = splitBlocks(split, text.slice(0, end));
  expect(pieces(split)).toEqual([{ at: 0, raw: text, code: null, level: 3 }]);
});

test("text that makes the lexer throw becomes one piece", () => {
  const text = "- a\n    > 1.\nb\n";
  expect(pieces(splitBlocks(EMPTY_SPLIT, text))).toEqual([{ at: 0, raw: text, code: null, level: 3 }]);
});

test("every piece is at its offset, with only blank lines and definitions between pieces", () => {
  fc.assert(
    fc.property(randomMarkdown, (text) => {
      const split = splitBlocks(EMPTY_SPLIT, text);
      let done = 0;
      for (const { at, raw } of pieces(split)) {
        expect(split.text.slice(at, at + raw.length)).toBe(raw);
        const between = split.text.slice(done, at).trim();
        expect(between === "" || between.startsWith("[")).toBe(true);
        done = at + raw.length;
      }
    }),
    { numRuns: 1_000 },
  );
});

test("full chunks before the end stay the same objects", () => {
  const text = Array.from({ length: 100 }, (_, n) => `Paragraph ${n}.`).join("\n\n");
  const before = splitBlocks(EMPTY_SPLIT, text);
  const after = splitBlocks(before, `${text} And more.\n\nNew.`);
  expect(before.chunks.length).toBe(4);
  expect(after.chunks[0]).toBe(before.chunks[0]);
  expect(after.chunks[2]).toBe(before.chunks[2]);
  expect(pieces(after).length).toBe(101);
});

test("only the end of a long answer is lexed again when text is appended", () => {
  const paragraph = "Cổ phiếu VNM giao dịch quanh 82.000 VND, thanh khoản cao hơn trung bình.\n\n";
  const long = splitBlocks(EMPTY_SPLIT, paragraph.repeat(3_000));
  expect(long.safe).toBeGreaterThan(long.text.length - 3 * paragraph.length);
});

test("a link finds its definition in another piece", () => {
  const { chunks, definitions } = splitBlocks(
    EMPTY_SPLIT,
    "See [The  Docs] and [x][y].\n\n[the docs]: https://d.example\n[z]: https://z.example\n",
  );
  expect(definitionsFor(chunks[0]?.[0]?.raw ?? "", definitions)).toBe("\n\n[the docs]: https://d.example");
});

test("a code block has its language, its text and whether its fence is closed", () => {
  expect(code("```ts x\nlet a;\n``")).toEqual({ language: "ts", text: "let a;\n``", isClosed: false });
  expect(code("```ts x\nlet a;\n```\n")).toEqual({ language: "ts", text: "let a;", isClosed: true });
  expect(code("```t")).toEqual({ language: "", text: "", isClosed: false });
  expect(code("    indented")?.text).toBe("indented");
});

/** Returns the levels of the pieces that start like a heading. */
const levels = (text: string) =>
  pieces(splitBlocks(EMPTY_SPLIT, text)).flatMap(({ raw, level }) => (raw.startsWith("#") ? [level] : []));

test("U07 headings start at level 3 and never skip a level, whatever levels the text uses", () => {
  expect(levels("## a\n\n### b\n\n## c\n\n#### d\n\n### e\n\n# f\n\n## g")).toEqual([3, 4, 3, 4, 4, 3, 4]);
  expect(levels("# a\n## b\n### c\n#### d\n##### e\n###### f")).toEqual([3, 4, 5, 6, 6, 6]);
  // A heading in a list or quote is one level below the current heading, and doesn't affect the headings after it.
  const nested = pieces(splitBlocks(EMPTY_SPLIT, "# a\n\n- # b\n\n## c\n\n> # d"));
  expect(nested.map(({ level }) => level)).toEqual([3, 4, 4, 5]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1 }), (depths) => {
      const found = levels(depths.map((depth) => `${"#".repeat(depth)} x`).join("\n\n"));
      expect(found[0]).toBe(3);
      for (const [n, level] of found.entries()) expect(level - (found[n - 1] ?? 3)).toBeLessThanOrEqual(1);
    }),
  );
});
