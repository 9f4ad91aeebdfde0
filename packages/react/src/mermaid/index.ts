/**
 * `@turnstream/react/mermaid`: `mermaid()` draws complete code blocks of the language `mermaid` as diagrams.
 * Invariant: nothing loads before the first diagram. Mermaid never runs in the page: see mermaid-frame.ts.
 */
"use client";

import type { MarkdownPlugin } from "../content/markdown-plugin.ts";
import { createLazyParts, ShowChildren } from "../lazy-parts.tsx";

export interface MermaidOptions {
  /** The URL of `mermaid/dist/mermaid.min.js`, which your app serves. */
  readonly url: string;
}

/** A longer diagram is shown as code. */
const MAX_CHARS = 20_000;

/** Create it once, outside of components. */
export function mermaid({ url }: MermaidOptions): MarkdownPlugin {
  const { load, part } = createLazyParts(async () =>
    (await import("./mermaid-chunk.tsx")).createDiagram(url),
  );
  return {
    maxChars: MAX_CHARS,
    drawsCode: (language) => language === "mermaid",
    Code: part((Diagram) => Diagram, ShowChildren),
    load,
  };
}
