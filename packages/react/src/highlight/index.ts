/**
 * `@turnstream/react/highlight`: `highlight()` colors complete code blocks with highlight.js.
 * Invariant: highlight.js and each of its languages load with the first code block that needs them.
 */
"use client";

import type { LanguageFn } from "highlight.js";
import type { MarkdownPlugin } from "../content/markdown-plugin.ts";
import { createLazyParts, ShowChildren } from "../lazy-parts.tsx";
import { isKnownLanguage, type LanguageLoaders } from "./languages.ts";

export interface HighlightOptions {
  /** Languages in addition to those that are known, by name in lower case. */
  readonly languages?: Readonly<Record<string, () => Promise<{ readonly default: LanguageFn }>>>;
}

/** A longer code block stays plain. The most hostile one of this length takes less than 50 ms. */
const MAX_CHARS = 8_000;

/** Create it once, outside of components. */
export function highlight({ languages = {} }: HighlightOptions = {}): MarkdownPlugin {
  const own: LanguageLoaders = languages;
  const { load, part } = createLazyParts(async () => {
    const { createColoredCode } = await import("./highlight-chunk.tsx");
    return createColoredCode(own);
  });
  return {
    maxChars: MAX_CHARS,
    drawsCode: (language) => Object.hasOwn(own, language) || isKnownLanguage(language),
    Code: part((Code) => Code, ShowChildren),
    load,
  };
}
