/**
 * `cleanLine` and `cleanLines` make a server's text safe to display. `cleanLine` also joins it to one line. Pure.
 * Invariant: the result has no control, invisible or direction characters, except the line breaks of `cleanLines`, and
 * at most `max` characters. Does not remove secrets: see redact.ts.
 */
import { truncateText } from "@turnstream/protocol/writer";

/** Control characters, and invisible characters such as those that change the text direction. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]+/gu;

export function cleanLine(text: string, max: number): string {
  const line = text.replaceAll(UNSEEN, " ").replaceAll(/\s+/g, " ").trim();
  return truncateText(line, max);
}

/** Like `cleanLine`, but keeps line breaks. */
export function cleanLines(text: string, max: number): string {
  const lines = truncateText(text, max * 2).split("\n");
  return truncateText(lines.map((line) => line.replaceAll(UNSEEN, "").trimEnd()).join("\n"), max).trim();
}
