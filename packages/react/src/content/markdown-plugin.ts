/**
 * `MarkdownPlugin` is an optional part of the Markdown renderer, such as `highlight()`. Types only.
 * Invariant: a plugin gets text and returns React elements, so it can't add HTML. It never changes which links, images
 * and citations an answer has. Its large libraries load with the first block that needs them.
 */
import type { ComponentType, ReactNode } from "react";

export interface MarkdownPlugin {
  /** The largest code block or formula that the plugin draws, in characters. A longer one is shown as text. */
  readonly maxChars: number;
  /** Returns true if the plugin draws complete code blocks of this language, in lower case. */
  readonly drawsCode?: (language: string) => boolean;
  /** How formulas are written. Only the first plugin with a syntax counts. */
  readonly formulas?: FormulaSyntax;
  /** Draws a complete code block. */
  readonly Code?: ComponentType<PluginCodeProps>;
  /** Draws a complete formula. */
  readonly Formula?: ComponentType<PluginFormulaProps>;
  /** Loads what it draws with, such as for the HTML of a server. */
  readonly load: () => Promise<void>;
}

interface PluginProps {
  /** The block as written, for as long as it is not drawn. */
  readonly children: ReactNode;
}

export interface PluginCodeProps extends PluginProps {
  readonly language: string;
  readonly text: string;
  readonly name?: string;
}

export interface PluginFormulaProps extends PluginProps {
  /** The formula without its delimiters. */
  readonly text: string;
  /** Whether it has a line of its own. */
  readonly isDisplay: boolean;
}

export interface FoundFormula extends Omit<PluginFormulaProps, "children"> {
  /** The formula as written. */
  readonly raw: string;
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
