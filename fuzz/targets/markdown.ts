/**
 * `markdown` renders generated Markdown as the page does, on the server side: the whole text, and a prefix of it as it
 * streams.
 * Invariant: rendering never throws.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { createStaticSession } from "@turnstream/client/static";
import fc from "fast-check";
import { type ComponentType, createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ts from "typescript";
import { hostileText } from "../arbitraries.ts";
import { syncTarget, type Target } from "../target.ts";

/** Node strips types but does not compile JSX. */
function compileJsx(): void {
  registerHooks({
    load: (url, context, nextLoad) => {
      if (!url.endsWith(".tsx")) return nextLoad(url, context);
      const { outputText } = ts.transpileModule(readFileSync(fileURLToPath(url), "utf8"), {
        compilerOptions: {
          jsx: ts.JsxEmit.ReactJSX,
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ESNext,
          verbatimModuleSyntax: true,
        },
      });
      return { format: "module", source: outputText, shortCircuit: true };
    },
  });
}

interface MarkdownModules {
  readonly Body: ComponentType<{ readonly text: string; readonly isStreaming: boolean }>;
  readonly Provider: ComponentType<{ readonly session: unknown; readonly children?: ReactNode }>;
  readonly session: unknown;
}

const load = (path: string) => import(new URL(`../../packages/${path}`, import.meta.url).href);

/** Loaded by URL, so that the compiler does not follow the imports of another package's source. */
async function loadModules(): Promise<MarkdownModules> {
  compileJsx();
  const { MarkdownBody } = (await load("react/src/content/markdown-chunk.tsx")) as {
    MarkdownBody: MarkdownModules["Body"];
  };
  const { SessionProvider } = (await load("react/src/provider.tsx")) as {
    SessionProvider: MarkdownModules["Provider"];
  };
  return { Body: MarkdownBody, Provider: SessionProvider, session: createStaticSession([]) };
}

/** A page renders only the piece that grows. Longer pieces with deep nesting take longer than 50 ms. */
const MAX_CHARS = 1_000;

const BLOCKS = [
  "# ",
  "> ",
  "- ",
  "1. ",
  "- [ ] ",
  "| a | b |\n|---|---|\n| ",
  "```ts\n",
  "    ",
  "***\n",
  "[a]: x\n",
];
const someText = fc
  .array(
    fc.tuple(
      fc.constantFrom("", ...BLOCKS),
      fc.integer({ min: 1, max: 30 }),
      hostileText(MAX_CHARS),
      fc.constantFrom("\n", "\n\n", " ", "\u2028"),
    ),
    { maxLength: 6 },
  )
  .map((parts) =>
    parts
      .map(([block, times, text, end]) => `${block.repeat(times)}${text}${end}`)
      .join("")
      .slice(0, MAX_CHARS),
  );

export const markdown: Target = {
  name: "markdown",
  about: "the rendering of Markdown",
  async open() {
    const { Body, Provider, session } = await loadModules();
    const render = (text: string, isStreaming: boolean): void => {
      renderToStaticMarkup(createElement(Provider, { session }, createElement(Body, { text, isStreaming })));
    };
    const input = fc.tuple(someText, fc.boolean());
    return syncTarget("markdown", "", input, ([text, isStreaming]) => render(text, isStreaming)).open();
  },
};
