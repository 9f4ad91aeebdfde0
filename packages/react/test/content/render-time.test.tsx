/**
 * Tests that the time of rendering Markdown grows linearly with the text, for text that is made to be slow. It compares
 * the CPU time of a text with that of a text twice as long, so that the speed of the machine doesn't count.
 */
import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { test } from "vitest";
import { MarkdownBody } from "../../src/content/markdown-chunk.tsx";
import { Stage } from "../stage.tsx";

type MakeText = (length: number) => string;

const repeat =
  (part: string): MakeText =>
  (length) =>
    part.repeat(Math.ceil(length / part.length));

/** Shorter than one piece that is parsed, so that the parsers see all of it. */
const PIECE_CHARS = 9_000;
const LONG_CHARS = 50_000;

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
};

const WITH_DEFINITIONS: Readonly<Record<string, MakeText>> = {
  "brackets beside a definition": (length) => `[a]: x\n\n${"[".repeat(length)}`,
  "escaped brackets beside a definition": (length) => `[a]: x\n\n${"\\[".repeat(length / 2)}`,
};

function render(text: string, isStreaming: boolean): number {
  const before = process.threadCpuUsage();
  renderToStaticMarkup(
    <Stage>
      <MarkdownBody text={text} isStreaming={isStreaming} />
    </Stage>,
  );
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const TRIES = 3;
/** Twice the text takes about twice the time; a pattern with quadratic time takes four times as long. */
const MAX_RATIO = 3;
/** Garbage collection and the compiler. */
const NOISE_MS = 80;

/** Throws if twice the text takes more than about three times as long, in several tries. */
function expectLinear(make: MakeText, length: number, isStreaming: boolean): void {
  let [once, twice] = [Infinity, Infinity];
  for (let n = 0; n < TRIES; n++) {
    once = Math.min(once, render(make(length), isStreaming));
    twice = Math.min(twice, render(make(2 * length), isStreaming));
    if (twice <= MAX_RATIO * once + NOISE_MS) return;
  }
  throw new Error(`${length} characters took ${once} ms, and twice as many took ${twice} ms`);
}

test.for(Object.entries(HOSTILE))("the time for %s grows linearly", ([, make]) => {
  // The first render compiles the code.
  render(make(1_000), false);
  for (const isStreaming of [false, true]) expectLinear(make, PIECE_CHARS, isStreaming);
  expectLinear(make, LONG_CHARS, false);
});

test.for(Object.entries(WITH_DEFINITIONS))("the time for %s grows linearly", ([, make]) => {
  expectLinear(make, LONG_CHARS, false);
});

const manyDefinitions: MakeText = (length) => {
  const tags = Array.from({ length: length / 24 }, (_, n) => `t${n}`);
  return [...tags.map((tag) => `[${tag}]: x`), ...tags.map((tag) => `[${tag}]`)].join("\n\n");
};
const longDefinition: MakeText = (length) =>
  `[a]: http://x.example/${"y".repeat(length / 2)}\n\n${"[a]\n\n".repeat(length / 50)}`;

test("the time for pieces that use definitions grows linearly", () => {
  for (const make of [manyDefinitions, longDefinition]) expectLinear(make, PIECE_CHARS, false);
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
/** A push runs the same cases every time. A full run searches for new ones. */
const CASES = process.env["TURNSTREAM_FULL"] === "1" ? { numRuns: 1_000 } : { numRuns: 30, seed: 20_261_117 };
const SHORT_CHARS = 2_000;

const parts = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom(...PARTS), { minLength, maxLength }).map((list) => list.join(""));

test("the time for any repeated text grows linearly", { timeout: 1_200_000 }, () => {
  fc.assert(
    fc.property(parts(1, 5), parts(0, 2), fc.boolean(), (repeated, first, isStreaming) => {
      const make: MakeText = (length) => `${first}${repeat(repeated)(length)}b`;
      expectLinear(make, SHORT_CHARS, isStreaming);
    }),
    CASES,
  );
});
