/**
 * `MarkdownPlugin` is an optional part of the Markdown renderer, such as `highlight()`. Types only.
 * Invariant: a plugin gets text and returns React elements, so it can't add HTML. It never changes which links, images
 * and citations an answer has. Its large libraries are in `parts`, which load with the first block that needs them.
 */
import type { ComponentType } from "react";
import type { LazyParts } from "../lazy-parts.ts";

export interface MarkdownPlugin {
  /** The largest code block or formula that the plugin draws, in characters. A longer one is shown as text. */
  readonly maxChars: number;
  /** Returns true if the plugin draws complete code blocks of this language, in lower case. */
  readonly drawsCode?: (language: string) => boolean;
  /** How formulas are written. Only the first plugin with a syntax counts. */
  readonly formulas?: FormulaSyntax;
  readonly parts: LazyParts<PluginParts>;
}

export interface PluginParts {
  /** Draws a complete code block. */
  readonly Code?: ComponentType<PluginCodeProps>;
  readonly Formula?: ComponentType<PluginFormulaProps>;
}

export interface PluginCodeProps {
  readonly language: string;
  readonly text: string;
  readonly name?: string;
}

export interface PluginFormulaProps {
  /** The formula without its delimiters. */
  readonly text: string;
  /** Whether it has a line of its own. */
  readonly isDisplay: boolean;
  /** The formula as written. The plugin shows it if it can't draw the formula. */
  readonly raw: string;
}

export interface FoundFormula extends PluginFormulaProps {
  /** False while the end of the formula has not arrived. */
  readonly isClosed: boolean;
}

/** Both functions must be pure, and read each character at most a few times. */
export interface FormulaSyntax {
  /** Returns the formula at the start of the source. `isBlock` at the start of a block. */
  readonly find: (source: string, isBlock: boolean) => FoundFormula | null;
  /** Returns where the next formula may start, or -1. */
  readonly findStart: (source: string) => number;
}

export const NO_PLUGINS: readonly MarkdownPlugin[] = [];
