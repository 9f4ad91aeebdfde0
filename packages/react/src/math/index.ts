/**
 * `@turnstream/react/math`: `math()` draws formulas in TeX as MathML, with Temml.
 * Invariant: Temml loads with the first complete formula. An answer without formulas loads nothing.
 */
"use client";

import type { MarkdownPlugin } from "../content/markdown-plugin.ts";
import { createLazyParts, ShowChildren } from "../lazy-parts.tsx";
import { createFormulaSyntax } from "./formula-syntax.ts";

export interface MathOptions {
  /** Whether `$x$` is a formula. False if your answers have many amounts in dollars. @default true */
  readonly singleDollar?: boolean;
}

/** A longer formula is shown as written. The most hostile one of this length takes less than 50 ms. */
const MAX_CHARS = 1_000;

const { load, part } = createLazyParts(() => import("./math-chunk.tsx"));
const Code = part((parts) => parts.Code, ShowChildren);
const Formula = part((parts) => parts.Formula, ShowChildren);

/** Create it once, outside of components. */
export function math({ singleDollar = true }: MathOptions = {}): MarkdownPlugin {
  return {
    maxChars: MAX_CHARS,
    drawsCode: (language) => language === "math",
    formulas: createFormulaSyntax(singleDollar),
    Code,
    Formula,
    load,
  };
}
