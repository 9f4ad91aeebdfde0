/** Tests colored code: no character changes, only `span` elements are added, and no code block takes long. */
import { isChosen } from "@turnstream/conformance/support/run-one-of.ts";
import { measureSlowness } from "@turnstream/testkit/util/cpu-slowness.ts";
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

const MAX_CHARS = 8_000;
/** Twice the 50 ms of an idle machine: here other tests share the core and its caches. */
const MAX_MS = 100 * Number(process.env["TURNSTREAM_SLOWNESS"] ?? 1);
const SLOW = ["a", "a ", "(", "'", '"', "`", "\\", "<a ", "a\n", "-"];

/** The least of several tries counts, because compilation and garbage collection are not the fault of the text. */
function measure(name: string, text: string): number {
  let least = Infinity;
  for (let tries = 0; tries < 5 && least > MAX_MS; tries++) {
    const started = process.threadCpuUsage();
    void highlighter.color(name, text);
    const { user, system } = process.threadCpuUsage(started);
    least = Math.min(least, (user + system) / 1_000 / (tries === 0 ? 1 : measureSlowness()));
  }
  return least;
}

/** A push measures an eighth of the languages. The seed chooses which. */
const MEASURED = NAMES.filter((name) => isChosen(`code of ${name}`, 8));

test.for(MEASURED)("no code block of %s takes long", (name) => {
  const slow = SLOW.flatMap((part) => {
    const fill = (chars: number, end: string): string => {
      const line = part.repeat(chars / part.length) + end;
      return line.repeat(MAX_CHARS / line.length);
    };
    const ms = Math.max(measure(name, fill(800, "\n")), measure(name, fill(290, ";\n")));
    return ms < MAX_MS ? [] : [`${JSON.stringify(part)}: ${Math.round(ms)} ms`];
  });
  expect(slow).toEqual([]);
});
