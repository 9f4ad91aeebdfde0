/**
 * `matchDeltaRun` and `extractRawText` read consecutive text and thinking deltas of one block without parsing them.
 * Nearly every event is such a delta, and its JSON text is reused as it is in the log. Pure.
 * Invariant: an entry that differs in any way, even in the order of its fields, is not part of the run and is parsed
 * instead. `mergedDelta` expects entries without gaps; its result folds like the single deltas.
 */
import type { SessionEvent, EventOf } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";

type Delta = EventOf<"text.delta" | "thinking.delta">;

export interface DeltaRun {
  /** One delta of the run. */
  readonly delta: Delta;
  /** The JSON that all deltas of the run share, after their stamp and up to their text. */
  readonly prefix: string;
}

/** Returns the run that an entry belongs to, or null if it is not a plain delta. */
export function matchDeltaRun(entry: LogEntry): DeltaRun | null {
  const { event } = entry;
  if (event.type !== "text.delta" && event.type !== "thinking.delta") return null;
  const { id: _id, v: _v, at: _at, text: _text, ...rest } = event;
  const run = { delta: event, prefix: `${JSON.stringify(rest).slice(1, -1)},"text":` };
  return extractRawText(run, entry) === null ? null : run;
}

/** Returns the text of a further delta as JSON, or null if the entry is something else or has other fields. */
export function extractRawText({ prefix }: DeltaRun, entry: LogEntry): string | null {
  const rest = entry.jsonAfter(prefix);
  if (rest === null || !rest.startsWith('"')) return null;
  return findStringEnd(rest) === rest.length - 2 ? rest.slice(0, -1) : null;
}

/** Returns one delta with the text of all of them, for the fold. */
export function mergedDelta({ delta }: DeltaRun, texts: readonly string[], last: LogEntry): SessionEvent {
  const text = JSON.parse(texts.length === 1 ? (texts[0] ?? '""') : joinJsonStrings(texts)) as string;
  return { ...delta, id: last.cursor, first: last.seq - texts.length + 1, text };
}

function joinJsonStrings(texts: readonly string[]): string {
  return `"${texts.map((text) => text.slice(1, -1)).join("")}"`;
}

/** Returns the index of the quote that ends the JSON string at the start of `text`. */
function findStringEnd(text: string): number {
  let end = text.indexOf('"', 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, index: number): boolean {
  let slashes = 0;
  while (text[index - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}
