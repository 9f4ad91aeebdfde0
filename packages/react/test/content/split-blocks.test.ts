/** That appending to Markdown only ever changes its end, and that no character is lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { definitionsFor, EMPTY_SPLIT, type Split, splitBlocks } from "../../src/content/split-blocks.ts";
import { cutAt, randomMarkdown } from "./random-markdown.ts";

const pieces = ({ chunks }: Split) => chunks.flat();
const code = (text: string) => pieces(splitBlocks(EMPTY_SPLIT, text))[0]?.code;

test("what grows by random pieces ends as what was split at once", () => {
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

test("character by character, it is at every moment as if split at once", () => {
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

test("a line of dashes takes in all that stands above it up to a blank line", () => {
  const text = 'price\n<!-- --> -->\n[a]: https://d.example "t"\n-';
  let split = EMPTY_SPLIT;
  for (let end = 1; end <= text.length; end++) split = splitBlocks(split, text.slice(0, end));
  expect(pieces(split)).toEqual([{ at: 0, raw: text, code: null, level: 3 }]);
});

test("what the lexer throws at is shown all the same", () => {
  const text = "- a\n    > 1.\nb\n";
  expect(pieces(splitBlocks(EMPTY_SPLIT, text))).toEqual([{ at: 0, raw: text, code: null, level: 3 }]);
});

test("every piece is where it says, and only blank lines and definitions are between", () => {
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

test("full portions before the end keep their identity", () => {
  const text = Array.from({ length: 100 }, (_, n) => `Paragraph ${n}.`).join("\n\n");
  const before = splitBlocks(EMPTY_SPLIT, text);
  const after = splitBlocks(before, `${text} And more.\n\nNew.`);
  expect(before.chunks.length).toBe(4);
  expect(after.chunks[0]).toBe(before.chunks[0]);
  expect(after.chunks[2]).toBe(before.chunks[2]);
  expect(pieces(after).length).toBe(101);
});

test("only the end of a long answer is looked at again", () => {
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

test("a fence says whether it is shut", () => {
  expect(code("```ts x\nlet a;\n``")).toEqual({ language: "ts", text: "let a;\n``", isClosed: false });
  expect(code("```ts x\nlet a;\n```\n")).toEqual({ language: "ts", text: "let a;", isClosed: true });
  expect(code("```t")).toEqual({ language: "", text: "", isClosed: false });
  expect(code("    indented")?.text).toBe("indented");
});

/** The levels of what begins as a heading does. */
const levels = (text: string) =>
  pieces(splitBlocks(EMPTY_SPLIT, text)).flatMap(({ raw, level }) => (raw.startsWith("#") ? [level] : []));

test("U07 headings begin at 3 and never leave a level out, however they are counted and cut", () => {
  expect(levels("## a\n\n### b\n\n## c\n\n#### d\n\n### e\n\n# f\n\n## g")).toEqual([3, 4, 3, 4, 4, 3, 4]);
  expect(levels("# a\n## b\n### c\n#### d\n##### e\n###### f")).toEqual([3, 4, 5, 6, 6, 6]);
  // What stands in a list is one below, and what follows goes by the list's own place.
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
