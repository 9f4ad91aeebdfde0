/** Tests colored code: no character changes, and only `span` elements are added. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { beforeAll, expect, test } from "vitest";
import { createHighlighter } from "../../src/highlight/highlight-chunk.tsx";
import { highlight } from "../../src/highlight/index.ts";
import { LANGUAGES } from "../../src/highlight/languages.ts";

const highlighter = createHighlighter({});
const NAMES = Object.keys(LANGUAGES);
beforeAll(async () => await Promise.all(NAMES.map((name) => highlighter.load(name))));

const color = (language: string, text: string): string =>
  renderToStaticMarkup(createElement("code", null, highlighter.color(language, text) ?? "nothing"));

const decode = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&");

test("code is colored by its language or an alias", () => {
  expect(color("ts", "let a = 1;")).toBe(
    '<code><span class="ts-hl-keyword">let</span> a = <span class="ts-hl-number">1</span>;</code>',
  );
  expect(color("html", "<b>x</b>")).toContain('<span class="ts-hl-name">b</span>');
});

test("known languages and own ones are drawn, others stay plain", () => {
  const { drawsCode } = highlight({ languages: { own: LANGUAGES["json"] as never } });
  const names = ["ts", "python", "own", "", "nosuch", "constructor", "__proto__"];
  expect(names.map((name) => drawsCode?.(name))).toEqual([true, true, true, false, false, false, false]);
});

const HOSTILE = [
  "</code><script>ran()</script>",
  `<img src=x onerror="ran()">`,
  "&lt;b&gt; &amp;amp; &#39;",
  `"'\`\${<!--</span>-->`,
  "<?php </style> ?> <script>let a = '</script>';</script>",
  "\u0000\u2028\u202e\ud800",
];

test("no character changes, and only spans with classes are added", () => {
  for (const name of NAMES)
    for (const text of HOSTILE) {
      const drawn = color(name, text);
      expect(drawn.slice("<code>".length, -"</code>".length), name).not.toMatch(
        /<(?!\/span>|span class="[\w -]*">)/,
      );
      expect(decode(drawn), name).toBe(text);
    }
});
