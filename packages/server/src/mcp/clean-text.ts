/** Words of a server made fit for people: no control or direction marks, one line, bounded. Pure. */
import { truncateText } from "@turnstream/protocol/writer";

/** Control characters, and marks that turn the direction of text or are not seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]+/gu;

export function cleanLine(text: string, max: number): string {
  const line = text.replaceAll(UNSEEN, " ").replaceAll(/\s+/g, " ").trim();
  return truncateText(line, max);
}

/** The same, with its lines left as they are. */
export function cleanLines(text: string, max: number): string {
  const lines = truncateText(text, max * 2).split("\n");
  return truncateText(lines.map((line) => line.replaceAll(UNSEEN, "").trimEnd()).join("\n"), max).trim();
}
