/**
 * `createStyles` colors text, `usesColors` decides whether to, `formatTable` and `formatFields` align text, and
 * `toPrintable` makes a text safe to print. Pure.
 * Invariant: a text from the database or the log reaches the terminal only through `toPrintable`, because it can
 * contain escape sequences that change the terminal. Nothing depends on colors: each state also has a word.
 */
import { stripVTControlCharacters, styleText } from "node:util";

type Style = (text: string) => string;

const FORMATS = ["bold", "dim", "red", "green", "blue", "magenta", "cyan"] as const;
export type Styles = Readonly<Record<(typeof FORMATS)[number], Style>>;

export function createStyles(hasColors: boolean): Styles {
  const styles = FORMATS.map((format): [string, Style] => [
    format,
    (text) => (hasColors ? styleText(format, text, { validateStream: false }) : text),
  ]);
  return Object.fromEntries(styles) as Styles;
}

/** Follows https://no-color.org and the usual meaning of FORCE_COLOR. */
export function usesColors(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  const forced = env["FORCE_COLOR"] ?? "";
  if (forced !== "") return forced !== "0";
  return isTerminal && env["TERM"] !== "dumb";
}

/** Replaces line breaks and control characters, and cuts the text to `max` columns. */
export function toPrintable(text: string, max = Infinity): string {
  const clean = stripVTControlCharacters(text)
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  if (measure(clean) <= max) return clean;
  let cut = "";
  let width = 1;
  for (const { segment } of SEGMENTS.segment(clean)) {
    width += measure(segment);
    if (width > max) break;
    cut += segment;
  }
  return `${cut}…`;
}

const SEGMENTS = new Intl.Segmenter();
/** Characters that take two columns of a terminal. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/gu;

/** Returns how many columns of a terminal a text takes. */
function measure(text: string): number {
  const marks = text.match(/\p{Mn}/gu)?.length ?? 0;
  const points = text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0);
  return points - marks + (text.match(WIDE)?.length ?? 0);
}

const GAP = "  ";
/** A column is never cut below this. */
const MIN_WIDTH = 8;

/**
 * Aligns rows under their headers, and cuts the widest columns until a line fits. Without a terminal, returns rows of
 * tab-separated values without headers, for scripts.
 * @param columns width of the terminal; null for none
 */
export function formatTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | null,
): string[] {
  const cells = rows.map((row) => row.map((cell) => toPrintable(cell)));
  if (columns === null) return cells.map((row) => row.join("\t"));
  const widths = headers.map((header, n) =>
    Math.max(header.length, ...cells.map((row) => measure(row[n] ?? ""))),
  );
  const total = (): number => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  while (total() > columns && Math.max(...widths) > MIN_WIDTH) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const line = (row: readonly string[]): string =>
    row
      .map((cell, n) => padTo(toPrintable(cell, widths[n]), widths[n] ?? 0))
      .join(GAP)
      .trimEnd();
  return [headers, ...cells].map(line);
}

function padTo(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - measure(text)));
}

/** Aligns values after their labels, and wraps long values under themselves if `columns` is not null. */
export function formatFields(
  fields: readonly (readonly [label: string, value: string])[],
  columns: number | null,
  label: Style = (text) => text,
): string[] {
  const width = Math.max(...fields.map(([name]) => name.length)) + GAP.length;
  return fields.flatMap(([name, value]) =>
    wrap(toPrintable(value), (columns ?? Infinity) - width).map((line, n) =>
      n === 0 ? `${label(name.padEnd(width))}${line}` : `${" ".repeat(width)}${line}`,
    ),
  );
}

/** Breaks a text at spaces. A part without a space that is longer than a line stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
