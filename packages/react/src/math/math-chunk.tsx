/**
 * `Formula` draws a formula in TeX as MathML. Loaded as a chunk with the first formula.
 * Invariant: TeX can't make links, load images, set classes or change the page: Temml refuses these commands, and only
 * elements and attributes of MathML are drawn. A formula with an error is shown as written.
 */
import { memo, type ReactNode } from "react";
import temml from "temml";
import type { PluginCodeProps, PluginFormulaProps } from "../content/markdown-plugin.ts";
import { renderMarkup } from "../content/render-markup.ts";

const toSet = (names: string): ReadonlySet<string> => new Set(names.split(" "));
const ALLOWED = {
  tags: toSet(
    "math maction menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms " +
      "mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none",
  ),
  attributes: toSet(
    "accent accentunder class columnalign columnlines columnspacing columnspan depth dir display displaystyle fence " +
      "form height largeop linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize " +
      "movablelimits notation rowlines rowspacing rowspan rspace scriptlevel separator stretchy style symmetric " +
      "voffset width",
  ),
};

const OPTIONS = {
  trust: false,
  throwOnError: true,
  strict: false,
  /** How many macros one formula may expand, because a macro can double its length each time. */
  maxExpand: 100,
  /** In em: larger sizes would cover the page. */
  maxSize: [20, 100] as [number, number],
};

/** Returns null if the formula has an error. */
export function renderFormula(text: string, isDisplay: boolean): ReactNode {
  try {
    return renderMarkup(temml.renderToString(text, { ...OPTIONS, displayMode: isDisplay }), ALLOWED);
  } catch {
    return null;
  }
}

// The children are the same formula, as written.
export const Formula = memo(
  DrawnFormula,
  (one, { text, isDisplay }) => one.text === text && one.isDisplay === isDisplay,
);

function DrawnFormula({ text, isDisplay, children }: PluginFormulaProps): ReactNode {
  const drawn = renderFormula(text, isDisplay);
  if (drawn === null) return children;
  return (
    // Focusable, so that a keyboard can scroll a long formula.
    <span
      className={isDisplay ? "ts-formula ts-formula-display" : "ts-formula"}
      {...(isDisplay && { tabIndex: 0 })}
    >
      {drawn}
    </span>
  );
}

/** A code block of the language `math`. */
export function Code({ text, children }: PluginCodeProps): ReactNode {
  return (
    <Formula text={text} isDisplay>
      {children}
    </Formula>
  );
}
