/**
 * Reads runs of text and thinking deltas of one block without parsing them. Nearly every event is such a delta, and its
 * text is taken from the log as the JSON that is there. An entry that looks different in any way is not part of the run.
 * Pure.
 */
import type { SessionEvent, EventOf } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";

type Delta = EventOf<"text.delta" | "thinking.delta">;

export interface DeltaRun {
  /** One of its deltas. */
  readonly delta: Delta;
  /** The JSON that all of them have after their stamp, up to their text. */
  readonly prefix: string;
}

/** The run that an entry is part of; null when it is something else than a plain delta. */
export function matchDeltaRun(entry: LogEntry): DeltaRun | null {
  const { event } = entry;
  if (event.type !== "text.delta" && event.type !== "thinking.delta") return null;
  const { id: _id, v: _v, at: _at, text: _text, ...rest } = event;
  const run = { delta: event, prefix: `${JSON.stringify(rest).slice(1, -1)},"text":` };
  return extractRawText(run, entry) === null ? null : run;
}

/** The text of a further delta, as JSON; null when the entry is not that, or has something besides. */
export function extractRawText({ prefix }: DeltaRun, entry: LogEntry): string | null {
  const rest = entry.jsonAfter(prefix);
  if (rest === null || !rest.startsWith('"')) return null;
  return findStringEnd(rest) === rest.length - 2 ? rest.slice(0, -1) : null;
}

/** One delta with the text of all of them, for the fold. */
export function mergedDelta({ delta }: DeltaRun, texts: readonly string[], last: LogEntry): SessionEvent {
  const text = JSON.parse(texts.length === 1 ? (texts[0] ?? '""') : joinJsonStrings(texts)) as string;
  return { ...delta, id: last.cursor, first: last.seq - texts.length + 1, text };
}

function joinJsonStrings(texts: readonly string[]): string {
  return `"${texts.map((text) => text.slice(1, -1)).join("")}"`;
}

/** Where the string ends that a text starts with. */
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
