/**
 * `matchDeltaRun` and `extractRawText` read consecutive text and thinking deltas of one block without parsing them, and
 * `mergeDeltas` and `mergeRuns` merge them. Nearly every event is such a delta, and its JSON text is reused as it is in
 * the log. Pure.
 * Invariant: an entry that differs in any way, even in the order of its fields, is not part of the run and is parsed
 * instead; so is a delta of a newer schema version. The text must be the last field, as `TurnWriter` writes it.
 * `mergedDelta` expects entries without gaps; its result folds like the single deltas. `mergeDeltas` gives the same
 * events as `coalesce`.
 */
import { type EventOf, SCHEMA_VERSION, type SessionEvent } from "@turnstream/protocol";
import { coalesce } from "@turnstream/protocol/writer";
import type { LogEntry } from "./entry.ts";

type Delta = EventOf<"text.delta" | "thinking.delta">;

export interface DeltaRun {
  /** One delta of the run. */
  readonly delta: Delta;
  /** The JSON that all deltas of the run share, after their stamp and up to the first quote of their text. */
  readonly prefix: string;
}

/** Returns the run that an entry belongs to, or null if it is not a plain delta. */
export function matchDeltaRun(entry: LogEntry): DeltaRun | null {
  const { event } = entry;
  if (event.type !== "text.delta" && event.type !== "thinking.delta") return null;
  // A merge would drop what only the newer version knows.
  if (event.v > SCHEMA_VERSION) return null;
  const { id: _id, v: _v, at: _at, text: _text, ...rest } = event;
  const run = { delta: event, prefix: `${JSON.stringify(rest).slice(1, -1)},"text":"` };
  return extractRawText(run, entry) === null ? null : run;
}

/**
 * Returns the text of a further delta as JSON without its quotes, or null if the entry is something else or has other
 * fields.
 */
export function extractRawText({ prefix }: DeltaRun, entry: LogEntry): string | null {
  return entry.lastStringAfter(prefix);
}

/** Returns one delta with the text of all of them, for the fold. */
export function mergedDelta({ delta }: DeltaRun, texts: readonly string[], last: LogEntry): SessionEvent {
  const text = JSON.parse(`"${texts.join("")}"`) as string;
  return { ...delta, id: last.cursor, first: last.seq - texts.length + 1, text };
}

/** Maximum JSON length of one merged delta. It is far below the limit of `coalesce`, which merges further. */
const MAX_MERGED_LENGTH = 4_096;

/**
 * Returns the events of entries with adjacent deltas merged. The result is the same as from `coalesce`, without parsing
 * each entry: most of a turn are thousands of deltas of one block.
 */
export function mergeDeltas(entries: readonly LogEntry[]): SessionEvent[] {
  return coalesce(mergeRuns(entries, { maxLength: MAX_MERGED_LENGTH, maxEvents: Infinity }));
}

/** Limits of one merged delta. */
interface MergeLimits {
  /** Length of its JSON text. */
  readonly maxLength: number;
  readonly maxEvents: number;
}

/** Returns the events of entries, with adjacent deltas of a run merged. Parses only the first delta of each run. */
export function mergeRuns(
  entries: readonly LogEntry[],
  { maxLength, maxEvents }: MergeLimits,
): SessionEvent[] {
  const events: SessionEvent[] = [];
  let run: DeltaRun | null = null;
  let texts: string[] = [];
  let length = 0;
  let last: LogEntry | null = null;
  const flush = (): void => {
    if (run !== null && last !== null && texts.length > 0)
      events.push(texts.length === 1 ? last.event : { ...mergedDelta(run, texts, last), at: last.event.at });
    texts = [];
    length = 0;
  };
  for (const entry of entries) {
    const isNext: boolean = last?.epoch === entry.epoch && last.seq === entry.seq - 1;
    const more: string | null = run !== null && isNext ? extractRawText(run, entry) : null;
    if (more === null || length + more.length > maxLength || texts.length === maxEvents) flush();
    if (more === null) {
      run = matchDeltaRun(entry);
      events.push(entry.event);
    } else {
      texts.push(more);
      length += more.length;
    }
    last = entry;
  }
  flush();
  return events;
}
