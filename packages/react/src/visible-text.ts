/** Text of others with what can't be seen made visible: controls that turn, hide or join characters. Pure. */

/** Whatever shows nothing and changes what is read: controls, directions, zero widths, tags, blank letters. */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}\u115f\u1160\u2028\u2029\u3164\uffa0]/gu;
/** Emoji are joined by it, and it turns nothing. */
const JOINER = "\u200d";

/** For what a person decides by: names, arguments, hosts. A turned-round text shows `⟨202E⟩` where it turns. */
export function visibleText(text: string): string {
  return text.replaceAll(INVISIBLE, (char) =>
    char === JOINER ? char : `⟨${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}
