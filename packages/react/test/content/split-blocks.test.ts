/** Tests that appended Markdown changes only the last pieces, and that no character is lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { definitionsFor, EMPTY_SPLIT, type Split, splitBlocks } from "../../src/content/split-blocks.ts";
import { findCostEnd, findSliceEnd } from "../../src/content/render-cost.ts";
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
  expect(pieces(split)).toEqual([{ at: 0, head: "", raw: text, code: null, level: 3 }]);
});

test("text that makes the lexer throw becomes one piece", () => {
  const text = "- a\n    > 1.\nb\n";
  expect(pieces(splitBlocks(EMPTY_SPLIT, text))).toEqual([
    { at: 0, head: "", raw: text, code: null, level: 3 },
  ]);
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
  expect(long.closed.safe).toBeGreaterThan(long.text.length - 3 * paragraph.length);
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

const cells = (n: number) => `| ${n} | **${n}** |\n`;
const longTable = `| a | b |\n|---|---|\n${Array.from({ length: 200 }, (_, n) => cells(n)).join("")}\nEnd.`;

test("a long table is cut into tables with the same header, and no row is lost", () => {
  const parts = pieces(splitBlocks(EMPTY_SPLIT, longTable)).slice(0, -1);
  expect(parts.length).toBeGreaterThan(2);
  expect(parts.map(({ head }) => head)).toEqual(["", ...parts.slice(1).map(() => "| a | b |\n|---|---|\n")]);
  expect(`${parts.map(({ raw }) => raw).join("")}\n\nEnd.`).toBe(longTable);
});

test("a long code block stays one piece, and the text after it is Markdown again", () => {
  const text = `\`\`\`ts\n${"let a = [1];\n".repeat(5_000)}\`\`\`\n\n# b\n\nc`;
  const [first, ...others] = pieces(splitBlocks(EMPTY_SPLIT, text));
  expect(first?.code).toMatchObject({ language: "ts", isClosed: true });
  expect(others.map(({ raw }) => raw.trim())).toEqual(["# b", "c"]);
});

test("code that is longer than 100,000 characters continues as code", () => {
  const text = `~~~ts\n${"x\n".repeat(75_000)}~~~\n\nEnd.`;
  const all = pieces(splitBlocks(EMPTY_SPLIT, text));
  expect(all.slice(0, -1).map(({ code: part }) => part?.language)).toEqual(["ts", "ts"]);
  expect(all.at(-1)?.raw).toBe("End.");
});

test("no text without an end of a block becomes a long piece, and every character is in one", () => {
  const endless = [
    "a",
    "a ",
    "- a\n",
    "> a\n",
    "a\n",
    "<b>\n",
    "[a](b)",
    "|",
    "\n",
    "    a\n",
    "1. 2. a\n",
    "😀",
  ];
  for (const part of endless) {
    const text = part.repeat(Math.ceil(50_000 / part.length));
    const all = pieces(splitBlocks(EMPTY_SPLIT, text));
    for (const { raw } of all) expect(findCostEnd(raw, 0, 12_000), part).toBe(raw.length);
    expect(
      all
        .map(({ raw }) => raw)
        .join("")
        .replaceAll(/\s/g, ""),
    ).toBe(text.replaceAll(/\s/g, ""));
  }
});

test("a slice ends after a line, never splits a character, and always continues", () => {
  const text = `${"a line\n".repeat(500)}${"😀".repeat(20_000)}`;
  const ends: number[] = [];
  for (let end = 0; end < text.length; ends.push(end)) end = findSliceEnd(text, end);
  expect(ends.length).toBeGreaterThan(5);
  expect(text.slice(0, ends[0]).endsWith("\n")).toBe(true);
  for (const end of ends) expect(text.slice(0, end)).not.toMatch(/[\ud800-\udbff]$/);
});

test("text that arrives with line breaks of two characters is not split again from the start", () => {
  const before = splitBlocks(EMPTY_SPLIT, "a\r\n\r\nb\r\n\r\nc\r\n\r\nd\r");
  const after = splitBlocks(before, "a\r\n\r\nb\r\n\r\nc\r\n\r\nd\r\n\r\ne");
  expect(after.text.startsWith(before.text)).toBe(true);
  expect(pieces(after).map(({ raw }) => raw.trim())).toEqual(["a", "b", "c", "d", "e"]);
});
