/** Tests formulas: what is one, and that it is drawn as MathML without anything else. */
import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { beforeAll, expect, test } from "vitest";
import type { MarkdownProps } from "../../src/components.ts";
import { MarkdownBody } from "../../src/content/markdown-chunk.tsx";
import { EMPTY_SPLIT, splitBlocks } from "../../src/content/split-blocks.ts";
import { createFormulaSyntax } from "../../src/math/formula-syntax.ts";
import { math } from "../../src/math/index.ts";
import { Stage } from "../stage.tsx";
import { randomMarkdown } from "./random-markdown.ts";

const plugins = [math()];
beforeAll(async () => await plugins[0]?.load());

const draw = (props: MarkdownProps, using = plugins): string =>
  renderToStaticMarkup(
    <Stage plugins={using}>
      <MarkdownBody {...props} />
    </Stage>,
  ).replace(/^<div class="ts-root ts-unboxed" lang="en">([\s\S]*)<\/div>$/, "$1");
const html = (text: string): string => draw({ text, isStreaming: false });

test.each([
  ["$x^2$", 1],
  [String.raw`\(x\) and \[y\]`, 2],
  ["$$\nx\n$$", 1],
  ["$$x$$ is", 1],
  ["a\n\n\\[\nx\n=\n- y\n\\]\n\nb", 1],
  ["```math\nx\n```", 1],
  ["- $x$\n- **$y$**", 2],
  ["| $x$ |\n|--|\n| $y$ |", 2],
  ["It costs $5 or $10.", 0],
  ["$5-$10 and US$ 3", 0],
  ["`$x$` and \\$x$", 0],
  ["$ x $", 0],
  ["$x\n\ny$", 0],
  ["```\n$x$\n```", 0],
])("%j has %i formulas", (text, count) => {
  expect(html(text).match(/<math/g) ?? []).toHaveLength(count);
});

test("characters of a formula mean nothing else", () => {
  expect(html("$a_1 * b_1 * c$")).not.toMatch(/<em>|<ul>/);
  expect(html("$$\na\n= b\n+ c\n$$")).toMatch(/^<span class="ts-formula ts-formula-display"[^>]*><math/);
});

test("a formula is shown as written while it grows, and if it has an error or is too long", () => {
  expect(draw({ text: "$$\na + **b", isStreaming: true })).toBe('<span class="ts-plain">$$\na + **b</span>');
  expect(html("$\\frac{$")).toContain("$\\frac{$");
  expect(html(`$${"x".repeat(1_001)}$`)).not.toContain("<math");
});

test("without the plugin, formulas are text", () => {
  expect(draw({ text: "$x^2$", isStreaming: false }, [])).toBe("<p>$x^2$</p>");
});

test("dollars can be turned off", () => {
  const { find } = createFormulaSyntax(false);
  expect([find("$x$", false), find("$$x$$", false)?.text]).toEqual([null, "x"]);
});

test("a citation beside a formula stays a citation", () => {
  const annotations = [{ reference: 1, start: 3, end: 7 }];
  expect(draw({ text: "$x$[^1]", isStreaming: false, annotations, turnId: "t" })).toMatch(
    /<\/math>.*<sup>1<\/sup>/,
  );
});

test.each([
  String.raw`\href{javascript:ran()}{x}`,
  String.raw`\url{https://evil.example}`,
  String.raw`\includegraphics{https://evil.example/p.png}`,
  String.raw`\class{ts-root}{x}`,
  String.raw`\id{root}{x}`,
  String.raw`\style{background:url(https://evil.example)}{x}`,
  String.raw`\color{red;background:url(https://evil.example/p)} x`,
  String.raw`\text{<img src=x onerror=ran()>}`,
  String.raw`\text{</math><script>ran()</script>}`,
  String.raw`\unicode{x3c}script`,
  String.raw`\htmlData{a=b}{x}`,
  String.raw`\rule{9999em}{9999em}`,
])("%s creates no link, image, class or style", (text) => {
  const drawn = html(`$${text}$`);
  expect(drawn).not.toMatch(/<(?:a|img|script|iframe|style|image|svg)\b/i);
  expect(drawn).not.toMatch(/<[^>]*(?:href|src|url\(|onerror|9999em|id=)[^>]*>/i);
});

test("random Markdown with formulas has the same pieces in any chunks, and never throws", () => {
  const { formulas = null } = plugins[0] ?? {};
  const parts = fc.constantFrom("$", "$$", "\\[", "\\]", "\\(", "\\)", "\n$$\n", "\n\\[\n", "x", " ", "\n\n");
  const text = fc.array(fc.oneof(randomMarkdown, parts), { maxLength: 12 }).map((list) => list.join(""));
  fc.assert(
    fc.property(text, fc.array(fc.nat(200), { maxLength: 10 }), (whole, cuts) => {
      let split = EMPTY_SPLIT;
      for (const cut of cuts.toSorted((a, b) => a - b))
        split = splitBlocks(split, whole.slice(0, cut), formulas);
      expect(splitBlocks(split, whole, formulas).chunks.flat()).toEqual(
        splitBlocks(EMPTY_SPLIT, whole, formulas).chunks.flat(),
      );
      html(whole);
    }),
    { numRuns: 100 },
  );
});
