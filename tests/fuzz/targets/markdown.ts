/**
 * `markdown` renders generated Markdown as the page does: a text grows in steps, is drawn in slices, and is complete at
 * the end.
 * Invariant: rendering never throws. A case ends after `MAX_MS`, so the last slices of a long text may not be drawn.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { createStaticSession } from "@turnstream/client/static";
import fc from "fast-check";
import type { ComponentType, ReactNode } from "react";
import ts from "typescript";
import { hostileText } from "../arbitraries.ts";
import { installPage } from "../page.ts";
import { type CaseResult, generate, measureLongest, type Target } from "../target.ts";

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

interface Markdown {
  readonly text: string;
  readonly isStreaming: boolean;
}

interface Modules {
  readonly MarkdownBody: ComponentType<Markdown>;
  readonly SessionProvider: ComponentType<{ readonly session: unknown; readonly children?: ReactNode }>;
}

const load = (path: string) => import(new URL(`../../../packages/${path}`, import.meta.url).href);

/** Loaded by URL, so that the compiler does not follow the imports of another package's source. */
async function loadModules(): Promise<Modules> {
  compileJsx();
  return {
    ...((await load("react/src/content/markdown-chunk.tsx")) as Pick<Modules, "MarkdownBody">),
    ...((await load("react/src/provider.tsx")) as Pick<Modules, "SessionProvider">),
  };
}

const MAX_CHARS = 10_000;
/** As long as an answer can be. */
const MAX_LONG_CHARS = 100_000;
/** A long text takes seconds in all. Its slices are alike. */
const MAX_MS = 1_500;

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
const UNITS = [
  "# a\n",
  "- *a*\n",
  "[a]\n\n",
  "**a** ",
  "| a | [b](c) |\n",
  "> - a\n",
  "a\n\n",
  "`a` <b> &amp; ",
];

const mixed = (maxChars: number): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom("", ...BLOCKS),
        fc.integer({ min: 1, max: 30 }),
        hostileText(maxChars),
        fc.constantFrom("\n", "\n\n", " ", "\u2028"),
      ),
      { maxLength: 6 },
    )
    .map((parts) =>
      parts
        .map(([block, times, text, end]) => `${block.repeat(times)}${text}${end}`)
        .join("")
        .slice(0, maxChars),
    );
/** The same lines again and again, with a definition that changes all of them at the end. */
const lines = fc
  .tuple(
    fc.array(fc.constantFrom(...BLOCKS, ...UNITS), { minLength: 1, maxLength: 3 }),
    hostileText(100),
    fc.integer({ min: 1, max: MAX_LONG_CHARS }),
    fc.constantFrom("", "\n\n[a]: x"),
  )
  .map(([units, text, length, end]) => {
    const line = `${units.join("")}${text}\n`;
    return line.repeat(Math.ceil(length / line.length)).slice(0, length) + end;
  });
const someText = fc.oneof(
  { weight: 8, arbitrary: mixed(1_000) },
  { weight: 8, arbitrary: mixed(MAX_CHARS) },
  { weight: 1, arbitrary: mixed(MAX_LONG_CHARS) },
  { weight: 3, arbitrary: lines },
);
const input = fc.tuple(someText, fc.array(fc.nat(MAX_CHARS), { maxLength: 5 }));

const sleep = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));

export const markdown: Target = {
  name: "markdown",
  about: "the rendering of Markdown",
  async open() {
    const page = installPage();
    const { document } = page;
    const { createElement } = await import("react");
    const { createRoot } = await import("react-dom/client");
    const { MarkdownBody, SessionProvider } = await loadModules();
    const session = createStaticSession([]);

    return {
      async runCase(seed): Promise<CaseResult> {
        const [text, cuts] = generate(input, seed);
        const errors: string[] = [];
        const onError = (error: unknown): void => void errors.push(String(error));
        const container = document.createElement("div");
        const root = createRoot(container, {
          onUncaughtError: onError,
          onCaughtError: onError,
          onRecoverableError: onError,
        });
        const show = async (props: Markdown): Promise<void> => {
          root.render(createElement(SessionProvider, { session }, createElement(MarkdownBody, props)));
          await sleep(1);
        };
        const until = performance.now() + MAX_MS;
        const usedMs = await measureLongest(async () => {
          for (const cut of cuts.toSorted((a, b) => a - b))
            await show({ text: text.slice(0, cut), isStreaming: true });
          await show({ text, isStreaming: false });
          for (let seen = -1; seen !== document.changes && performance.now() < until; await sleep(10))
            seen = document.changes;
        });
        if (text.trim() !== "" && container.firstChild === null) errors.push("nothing was drawn");
        root.unmount();
        await sleep(0);
        const [crash] = errors;
        return { usedMs, ...(crash === undefined ? {} : { crash }) };
      },
      close: async () => page.remove(),
    };
  },
};
