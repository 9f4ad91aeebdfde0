/**
 * The events of entries, neighbouring deltas merged: what `coalesce` makes of them, without parsing each one. Who was away
 * for long gets thousands of deltas of the same block. Pure.
 */
import { coalesce, type Event } from "@turnstream/protocol";
import type { LogEntry } from "../log/entry.ts";
import { moreOf, saidAtOnce, type Saying, sayingOf } from "./encoding/raw-deltas.ts";

/** Of JSON text in one piece: far below what `coalesce` allows, which puts the pieces together. */
const MAX_LENGTH = 4_096;

export function mergedEvents(entries: readonly LogEntry[]): Event[] {
  const events: Event[] = [];
  let saying: Saying | null = null;
  let texts: string[] = [];
  let length = 0;
  let last: LogEntry | null = null;
  const flush = (): void => {
    if (saying !== null && last !== null && texts.length > 0)
      events.push(
        texts.length === 1 ? last.event : { ...saidAtOnce(saying, texts, last), at: last.event.at },
      );
    texts = [];
    length = 0;
  };
  for (const entry of entries) {
    const isNext: boolean = last?.epoch === entry.epoch && last.seq === entry.seq - 1;
    const more: string | null = saying !== null && isNext ? moreOf(saying, entry) : null;
    if (more === null || length + more.length > MAX_LENGTH) flush();
    if (more === null) {
      saying = sayingOf(entry);
      events.push(entry.event);
    } else {
      texts.push(more);
      length += more.length;
    }
    last = entry;
  }
  flush();
  return coalesce(events);
}
