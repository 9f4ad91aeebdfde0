/**
 * A block that is being spoken: text or thinking, delta by delta. Nearly every event is one of these, and says nothing but
 * more text; what it says can be taken from the log as it stands there, without parsing it and without making JSON of it
 * again. Whatever looks different in any way is not more of the same, and is for others to read. Pure.
 */
import type { SessionEvent, EventOf } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";

type Delta = EventOf<"text.delta" | "thinking.delta">;

export interface DeltaRun {
  /** One of its deltas. */
  readonly delta: Delta;
  /** How all of them begin, after their stamp and up to their text. */
  readonly beginning: string;
}

/** What an entry is a part of; null when it is something else than a plain delta. */
export function matchDeltaRun(entry: LogEntry): DeltaRun | null {
  const { event } = entry;
  if (event.type !== "text.delta" && event.type !== "thinking.delta") return null;
  const { id: _id, v: _v, at: _at, text: _text, ...rest } = event;
  const saying = { delta: event, beginning: `${JSON.stringify(rest).slice(1, -1)},"text":` };
  return extractRawText(saying, entry) === null ? null : saying;
}

/** The text of a further delta, as JSON; null when the entry is not that, or has something besides. */
export function extractRawText({ beginning }: DeltaRun, entry: LogEntry): string | null {
  const rest = entry.jsonAfter(beginning);
  if (rest === null || !rest.startsWith('"')) return null;
  return endOfString(rest) === rest.length - 2 ? rest.slice(0, -1) : null;
}

/** The delta that says all of it at once, for the fold. */
export function mergedDelta({ delta }: DeltaRun, texts: readonly string[], last: LogEntry): SessionEvent {
  const text = JSON.parse(texts.length === 1 ? (texts[0] ?? '""') : joined(texts)) as string;
  return { ...delta, id: last.cursor, first: last.seq - texts.length + 1, text };
}

function joined(texts: readonly string[]): string {
  return `"${texts.map((text) => text.slice(1, -1)).join("")}"`;
}

/** Where the string ends that a text begins with. */
function endOfString(text: string): number {
  let end = text.indexOf('"', 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}
