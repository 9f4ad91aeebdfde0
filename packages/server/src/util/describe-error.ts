/**
 * `describeError` is the text of an error with its causes, in one line, for a terminal or a log. `describeMessage` does
 * the same for one message. Pure.
 * Invariant: the text is bounded and has no control characters, so that no error can forge a line. It contains nothing
 * that looks like a key, because providers repeat a key that they refuse.
 */
import { inspect } from "node:util";
import { truncateText } from "@turnstream/protocol/writer";

const MAX_LENGTH = 300;
/** Deeper causes are those of libraries and rarely help. */
const MAX_CAUSES = 3;

/** Returns the messages of an error and of its causes. A cause that only repeats its error is left out. */
export function describeError(error: unknown): string {
  const texts: string[] = [];
  let at = error;
  for (let depth = 0; at instanceof Error && depth < MAX_CAUSES; depth++) {
    const text = describeMessage(at.message);
    if (text !== "" && !texts.some((each) => each.includes(text))) texts.push(text);
    at = at.cause;
  }
  return texts.length === 0 ? describeMessage(inspect(error)) : texts.join(" Cause: ");
}

/** Returns a message in one line of at most 300 characters, without secrets. */
export function describeMessage(message: string): string {
  return truncateText(redactSecrets(oneLine(message)), MAX_LENGTH);
}

export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
}

const HIDDEN = "[hidden]";

/** In this order: a query can contain a key, and a key can be part of what follows `Bearer`. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/(https?:\/\/)[^\s/@]*@/gi, "$1"],
  [/(https?:\/\/[^\s?#"']*)[?#][^\s"')]*/gi, "$1"],
  [/\b(bearer|basic)\s+[\w.~+/=*-]{6,}/gi, `$1 ${HIDDEN}`],
  // Prefixes of common providers, also if the provider has masked a part of the key.
  [/\b(?:sk|pk|rk|gsk|xai|hf|key|vck)[-_](?=[\w*.-]*[\d*])[\w*.-]{6,}/gi, HIDDEN],
  [/\bAIza[\w-]{10,}/g, HIDDEN],
  [/[\w-]*\*{3,}[\w*-]*/g, HIDDEN],
  // Long runs of letters and digits. Names of models are shorter.
  [/(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}/g, HIDDEN],
];

function redactSecrets(text: string): string {
  return SECRETS.reduce((rest, [pattern, shown]) => rest.replaceAll(pattern, shown), text);
}
