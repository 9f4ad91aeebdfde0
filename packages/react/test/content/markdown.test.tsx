/** Tests the server rendering of Markdown: it doesn't depend on the chunks, and an answer can't add HTML elements. */
import fc from "fast-check";
import { createElement, useState } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import type { MarkdownProps } from "../../src/components.ts";
import { hasSameMarks } from "../../src/content/citations/citation-marks.ts";
import { MarkdownBody } from "../../src/content/markdown-chunk.tsx";
import { Stage } from "../stage.tsx";
import { cutAt, randomMarkdown } from "./random-markdown.ts";

const draw = (props: MarkdownProps): string =>
  renderToStaticMarkup(
    <Stage>
      <MarkdownBody {...props} />
    </Stage>,
  ).replace(/^<div class="ts-root ts-unboxed" lang="en">([\s\S]*)<\/div>$/, "$1");
const html = (text: string): string => draw({ text, isStreaming: false });

/** Renders all prefixes in one component instance, as a page does while it streams. */
function Grown({ prefixes }: { readonly prefixes: readonly string[] }) {
  const [n, setN] = useState(0);
  if (n < prefixes.length - 1) setN(n + 1);
  return createElement(MarkdownBody, { text: prefixes[n] ?? "", isStreaming: n < prefixes.length - 1 });
}

test("random Markdown in random chunks renders like the whole text, and no prefix throws", () => {
  fc.assert(
    fc.property(randomMarkdown, fc.array(fc.nat(200), { maxLength: 20 }), (text, cuts) => {
      const prefixes = cutAt(text, cuts);
      for (const prefix of prefixes) draw({ text: prefix, isStreaming: true });
      const grown = renderToStaticMarkup(
        <Stage>
          <Grown prefixes={prefixes} />
        </Stage>,
      );
      expect(grown).toBe(`<div class="ts-root ts-unboxed" lang="en">${html(text)}</div>`);
    }),
    { numRuns: 100 },
  );
});

test("HTML renders as text, except line breaks; comments are removed", () => {
  expect(html("a <b>x</b> <br> c <!-- d -->")).toBe("<p>a &lt;b&gt;x&lt;/b&gt; <br/> c </p>");
  expect(html('<img src="https://x.example/p" onerror="alert(1)">')).not.toContain("<img");
  expect(html("<script>alert(1)</script>")).toBe("&lt;script&gt;alert(1)&lt;/script&gt;");
});

test("a code block shows its language, its text and a copy button", () => {
  const drawn = html("```ts\nlet a = 1 < 2;\n```");
  expect(drawn).toContain("<bdi>ts</bdi>");
  expect(drawn).toContain("<code>let a = 1 &lt; 2;</code>");
  expect(drawn).toContain(">Copy</button>");
  expect(html("- a\n\n  ```js\n  x\n  ```")).toContain("<code>x</code>");
});

test("incomplete syntax is completed while the text streams, and unchanged at the end", () => {
  expect(draw({ text: "A **bo", isStreaming: true })).toBe("<p>A <strong>bo</strong></p>");
  expect(draw({ text: "A **bo", isStreaming: false })).toBe("<p>A **bo</p>");
  expect(draw({ text: "See [docs](https://evil.exa", isStreaming: true })).toBe("<p>See docs</p>");
  expect(draw({ text: "```ts\nlet a;\n``", isStreaming: true })).toContain("<code>let a;</code>");
});

test("U07: a citation replaces its marker, is numbered by first appearance, and is never in code", () => {
  const text = "Up 2%[^7], **“down”**[^3] and `x[^7]`[^7].";
  const annotations = [...text.matchAll(/\[\^(\d)\]/g)].map(({ index, 0: { length }, 1: n }) => ({
    reference: Number(n),
    start: index,
    end: index + length,
  }));
  expect(draw({ text, isStreaming: false, annotations, turnId: "t" })).toBe(
    "<p>Up 2%<sup>1</sup>, <strong>“down”</strong><sup>2</sup> and <code>x[^7]</code><sup>1</sup>.</p>",
  );
  expect(draw({ text, isStreaming: false })).toContain("Up 2%[^7],");
});

test("a citation marker in a URL or in a link's text stays unchanged", () => {
  const text = "[a[^1]](https://x.example/[^1])";
  const annotations = [
    { reference: 1, start: 2, end: 6 },
    { reference: 1, start: 26, end: 30 },
  ];
  expect(text.slice(26, 30)).toBe("[^1]");
  expect(draw({ text, isStreaming: false, annotations, turnId: "t" })).toContain("a[^1]");
});

test("links, definitions, tables and task lists render across pieces", () => {
  const text =
    "See [docs].\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n[docs]: https://d.example/x";
  const drawn = html(text);
  expect(drawn).toContain("<button");
  expect(drawn).toContain("docs</bdi>");
  expect(drawn).toContain('class="ts-table-scroll"');
  expect(drawn).toContain('class="ts-task-mark" data-done="true"');
  expect(drawn).not.toContain("d.example");
});

test("a long list renders item by item, with the same result as a short one", () => {
  const items = ["a **b**", "c", "d `e`", "f", "g[^1]", "h\n   - i\n   - j", "k\n   > l"];
  const numbers = items.map((text, n) => `${n + 3}. ${text}`).join("\n");
  const drawn = html(numbers);
  expect(drawn).toContain('<ol start="3"><li>a <strong>b</strong></li><li>c</li>');
  expect(drawn).toMatch(/<li>h\s*<ul>\s*<li>i<\/li>\s*<li>j<\/li>\s*<\/ul><\/li>/);
  expect(html(items.map((text) => `- ${text}`).join("\n\n"))).toContain(
    "<ul><li><p>a <strong>b</strong></p></li>",
  );
  expect(draw({ text: `${numbers}\n9. **m`, isStreaming: true })).toContain(
    "<li><strong>m</strong></li></ol>",
  );
  expect(html(items.map((text) => `- [ ] ${text}`).join("\n")).match(/ts-task-mark/g)).toHaveLength(7);
});

test("character references are characters in text and addresses, and stay as written in code", () => {
  expect(html("&copy; &#169; &#xa9; &amp;lt; &nosuch; \\&amp; `&copy;`")).toBe(
    "<p>© © © &amp;lt; &amp;nosuch; &amp;amp; <code>&amp;copy;</code></p>",
  );
  expect(html("[a](javascript&colon;x) [b](&#106;avascript:x)")).toBe("<p><bdi>a</bdi> <bdi>b</bdi></p>");
});

test("the elements of GitHub-flavored Markdown", () => {
  expect(html("*a* **b** ***c*** ~~d~~ `e` f\\\ng")).toBe(
    "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <del>d</del> <code>e</code> f<br/>g</p>",
  );
  expect(html("> a\n>\n> - b\n>   c")).toBe("<blockquote><p>a</p><ul><li>b\nc</li></ul></blockquote>");
  expect(html("---")).toBe("<hr/>");
  expect(html("|a|b|\n|-:|--|\n|1|`x`|")).toContain(
    '<tr><th style="text-align:right">a</th><th>b</th></tr></thead><tbody><tr><td style="text-align:right">1</td>',
  );
  expect(html("- a\n\n- b")).toBe("<ul><li><p>a</p></li><li><p>b</p></li></ul>");
});

test("the text of a link is one string, so it is compared with the host", () => {
  expect(html("[good\\.example](https://evil.example)")).toContain(
    '<span class="ts-link-host"> (evil.example)',
  );
  expect(html("[![a *b*](https://x.example/p)](https://y.example)")).not.toContain("image");
});

test("deeply nested or very long text renders without an error", () => {
  const odd = [
    "> ".repeat(5_000),
    "- ".repeat(3_000),
    "[".repeat(30_000),
    "*a ".repeat(10_000),
    "`a ".repeat(5_000),
  ];
  for (const text of odd) expect(html(`${text}end`)).toContain("end");
  expect(html(`${"> ".repeat(200)}deep`)).not.toContain("<blockquote>");
  expect(html(`${"> ".repeat(10)}deep`).match(/<blockquote>/g)).toHaveLength(10);
});

test("a server draws the first slice of a long text, and the rest as plain text", () => {
  const drawn = html(Array.from({ length: 500 }, (_, n) => `# h${n}`).join("\n"));
  expect(drawn).toMatch(/^<h3 class="ts-h1">h0<\/h3>/);
  expect(drawn).toMatch(/<p class="ts-plain"># h\d+\n/);
  const shown = [...drawn.matchAll(/h(\d+)(?=[<\n])/g)].map(([, n]) => Number(n));
  expect(shown).toEqual(Array.from({ length: 500 }, (_, n) => n));
});

test("the parts of a long table have the same header", () => {
  const rows = Array.from({ length: 20 }, (_, n) => `| [${n}](https://x.example) | b |\n`).join("");
  const drawn = html(`| a | b |\n|---|---|\n${rows}${"| 1 | 2 |\n".repeat(5)}`);
  expect(drawn.match(/<th>a<\/th>/g)?.length).toBe(drawn.match(/<table/g)?.length);
});

test("a citation changes only the pieces around it", () => {
  const [one, two] = [
    { reference: 1, start: 5, end: 9 },
    { reference: 2, start: 50, end: 54 },
  ] as const;
  expect(hasSameMarks([one], [one, two], 0, 40)).toBe(true);
  expect(hasSameMarks([one], [one, two], 40, 80)).toBe(false);
  expect(hasSameMarks([two], [one, two], 40, 80)).toBe(false);
  expect(hasSameMarks([one, two], [{ ...one }, { ...two }], 0, 80)).toBe(true);
});

test("text is plain on a server and until the Markdown chunk is loaded", async () => {
  // Another file in this process may have loaded the chunk.
  vi.resetModules();
  const [fresh, stage] = await Promise.all([
    import("../../src/content/text-block.tsx"),
    import("../stage.tsx"),
  ]);
  const drawn = renderToStaticMarkup(
    <stage.Stage>
      <fresh.Markdown text={"A **b**\n<c>"} isStreaming={false} />
    </stage.Stage>,
  );
  expect(drawn).toContain('<p class="ts-plain">A **b**\n&lt;c&gt;</p>');
});
