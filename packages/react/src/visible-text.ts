/**
 * `visibleText` makes invisible characters in untrusted text visible: controls that reorder, hide or join characters.
 * Pure.
 * Invariant: every text on which a user bases a decision passes it before it is shown. Line breaks, tabs and the joiner
 * of emoji stay. It is only for display: values that are sent stay unchanged.
 */

/** Characters that show nothing but change how text reads: controls, directions, zero widths, tags, blank letters. */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}\u115f\u1160\u2028\u2029\u3164\uffa0]/gu;
/** Joins emoji and reorders nothing, so it stays. */
const JOINER = "\u200d";

/**
 * For texts that a user bases a decision on: names, arguments, hosts. Reordered text shows `⟨202E⟩` where the order
 * changes.
 */
export function visibleText(text: string): string {
  return text.replaceAll(INVISIBLE, (char) =>
    char === JOINER ? char : `⟨${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}
