/**
 * Tests that no slice of Markdown takes longer than 50 ms of CPU time, for text that is made to be slow. The slices of a
 * text grow with it, so the whole time is linear.
 */
import { measureSlowness } from "@turnstream/testkit/util/cpu-slowness.ts";
import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Pieces } from "../../src/content/markdown-chunk.tsx";
import { findSliceEnd } from "../../src/content/render-cost.ts";
import { EMPTY_SPLIT, normalizeNewlines, type Split, splitBlocks } from "../../src/content/split-blocks.ts";
import { Stage } from "../stage.tsx";

type MakeText = (length: number) => string;

const repeat =
  (part: string): MakeText =>
  (length) =>
    part.repeat(Math.ceil(length / part.length));

const LONG_CHARS = 100_000;

const HOSTILE: Readonly<Record<string, MakeText>> = {
  "plain text": repeat("a "),
  "line separators": (length) => `a${"\u2028".repeat(length)}b`,
  "paragraph separators": (length) => `a${"\u2029".repeat(length)}b`,
  "carriage returns": (length) => `a${"\r".repeat(length)}b`,
  spaces: (length) => `a${" ".repeat(length)}b`,
  "nested emphasis": repeat("*a **b "),
  "emphasis in brackets": repeat("[*"),
  "half strikethrough": repeat("a~"),
  brackets: repeat("["),
  images: repeat("!["),
  "half links": repeat("[a]("),
  "code marks of all lengths": (length) =>
    Array.from({ length: Math.ceil(Math.sqrt(2 * length)) }, (_, n) => `${"`".repeat(n + 1)}a`).join(""),
  pipes: (length) => `${"|".repeat(length)}\n${"|-".repeat(100)}`,
  "a table": repeat(`|${"a|".repeat(100)}\n`),
  entities: repeat("&#0;"),
  addresses: repeat("www."),
  "mail addresses": repeat("a@"),
  "punctuation after an address": (length) => `www.${"'".repeat(length)}b`,
  tildes: repeat("~"),
  HTML: repeat("<a "),
  "open comments": (length) => `a ${repeat("<!--")(length)}`,
  "open declarations": (length) => `a ${repeat("<!A<?")(length)}`,
  underscores: repeat("_a_ __b"),
  "empty quotations": repeat(">\n"),
  "small headings": repeat("# a\n"),
  "small items": repeat("- *a*\n"),
  "nested items": repeat(`${"- ".repeat(18)}a\n`),
  "nested quotations": repeat(`${"> ".repeat(18)}a\n\n`),
  links: repeat("[a](https://b.example) "),
  "half links with addresses": repeat("[a](b"),
  "half links that end": (length) => `${repeat("[a](b ")(length)})`,
  "half attributes": repeat("<a b='"),
  "nested images": repeat("![[`"),
  "mixed emphasis": repeat("*_**__"),
  "escaped marks": repeat("\\*\\_"),
  references: repeat("&amp;&#38;&x;"),
  "carriage returns between headings": repeat("# a\r"),
  "brackets beside a definition": (length) => `[a]: x\n\n${"[".repeat(length)}`,
  "escaped brackets beside a definition": (length) => `[a]: x\n\n${"\\[".repeat(length / 2)}`,
};

/** Returns the pieces that a page draws for the next slice, together with those that may change again. */
function findChanged(before: Split, next: Split): Split["chunks"][number] {
  const known = new Set(before.chunks.flat().map(({ at, raw }) => `${at} ${raw}`));
  return next.chunks.flat().filter(({ at, raw }) => !known.has(`${at} ${raw}`));
}

/** Splits and draws what follows `before` up to `end`, and returns the CPU time in milliseconds. */
function drawSlice(
  before: Split,
  text: string,
  end: number,
): { readonly usedMs: number; readonly split: Split } {
  const started = process.threadCpuUsage();
  const split = splitBlocks(before, text.slice(0, end));
  const used = process.threadCpuUsage(started);
  const pieces = findChanged(before, split);
  const from = process.threadCpuUsage();
  renderToStaticMarkup(
    <Stage>
      <Pieces pieces={pieces} definitions={split.definitions} annotations={[]} isOpen={end < text.length} />
    </Stage>,
  );
  const drawn = process.threadCpuUsage(from);
  return { usedMs: (used.user + used.system + drawn.user + drawn.system) / 1_000, split };
}

const TRIES = 4;
const MAX_MS = 50;
const FIRST_SLICES = 3;

/**
 * Draws the first slices and the last one. The least time of several tries counts, because compilation and garbage
 * collection are not the fault of the text. Times are those of an otherwise idle machine.
 */
function expectShortSlices(make: MakeText, length: number): void {
  const text = normalizeNewlines(make(length));
  const ends = [0];
  for (let end = 0; end < text.length; ends.push(end)) end = findSliceEnd(text, end);
  let before = EMPTY_SPLIT;
  for (const [n, end] of ends.entries()) {
    const isLast = n === ends.length - 1;
    if (n === 0 || (n > FIRST_SLICES && !isLast)) continue;
    if (isLast) before = splitBlocks(before, text.slice(0, ends[n - 1]));
    const { usedMs, split } = drawSlice(before, text, end);
    let least = usedMs;
    for (let tries = 1; tries < TRIES && least > MAX_MS; tries++)
      least = Math.min(least, drawSlice(before, text, end).usedMs / measureSlowness());
    expect(least, `slice ${n} of ${ends.length - 1}, up to ${end}`).toBeLessThan(MAX_MS);
    before = split;
  }
}

test.for(Object.entries(HOSTILE))("no slice of %s takes long", ([, make]) => {
  expectShortSlices(make, LONG_CHARS);
});

const manyDefinitions: MakeText = (length) => {
  const tags = Array.from({ length: length / 24 }, (_, n) => `t${n}`);
  return [...tags.map((tag) => `[${tag}]: x`), ...tags.map((tag) => `[${tag}]`)].join("\n\n");
};
const longDefinition: MakeText = (length) =>
  `[a]: http://x.example/${"y".repeat(length / 2)}\n\n${"[a]\n\n".repeat(length / 50)}`;

test("no slice of pieces that use definitions takes long", () => {
  for (const make of [manyDefinitions, longDefinition]) expectShortSlices(make, LONG_CHARS);
});

const PARTS = [
  ...Array.from("[]()<>*_`~|!#&\\-+=:@$^\"'"),
  ...Array.from("\n\r\t \u2028\u2029\u00a0\u200b"),
  "a",
  "1.",
  "- ",
  "> ",
  "](",
  "![",
  "**",
  "__",
  "```",
  "<!--",
  "www.",
  "http://",
  "&#",
  "[^1]",
  "\n\n",
  "\n    ",
  "|-|",
  "[a]: x\n",
];
const parts = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom(...PARTS), { minLength, maxLength }).map((list) => list.join(""));

test("no slice of any repeated text takes long", () => {
  fc.assert(
    fc.property(
      parts(1, 5),
      parts(0, 2),
      fc.integer({ min: 1, max: LONG_CHARS }),
      (repeated, first, chars) => {
        expectShortSlices((length) => `${first}${repeat(repeated)(length)}b`, chars);
      },
    ),
    { numRuns: 100 },
  );
});
