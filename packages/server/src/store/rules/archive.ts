/**
 * `checkBatch` verifies that an archive batch is complete, `toEventRows` splits its events into rows, and
 * `checkOutboxRow` verifies that the log will accept a row. Pure; none of them reads stored data.
 *
 * Invariant: the events of a batch cover exactly the range from `from` to `to`, in order and without gaps. A row that
 * the log would refuse must be refused here, or it would stay in the outbox forever. The size limit is that of
 * `log/writer/oversize.ts`.
 */
import {
  comparePositions,
  type Cursor,
  parseCursor,
  type Position,
  type SessionEvent,
} from "@turnstream/protocol";
import { WRITER_ID_PATTERN, WRITER_ID_RULE } from "../../util/names.ts";
import { StoreError } from "../errors.ts";
import type { ArchiveBatch, NewOutboxRow } from "../ports/archive.ts";
import { checkCursor } from "./arguments.ts";

export interface CheckedBatch {
  readonly from: Position;
  readonly to: Position;
  /** The span of each event, in the order of `batch.events`. */
  readonly spans: readonly EventSpan[];
  /** True if a turn starts or ends in the batch. */
  readonly turning: boolean;
  /** True if the batch has events of a newer schema version than the one that folded it. */
  readonly hasNewerEvents: boolean;
}

export interface EventSpan extends Position {
  /** The first seq; `seq` is the last. */
  readonly first: number;
}

export function checkBatch(batch: ArchiveBatch): CheckedBatch {
  const from = checkCursor(batch.from, "from");
  const to = checkCursor(batch.to, "to");
  if (comparePositions(from, to) > 0) throw invalid(`to is ${batch.to}, which is before from`);
  const spans: EventSpan[] = [];
  let last = from;
  for (const event of batch.events) {
    const span = spanAfter(last, event);
    spans.push(span);
    last = span;
  }
  if (comparePositions(last, to) !== 0) throw invalid(`its events end at ${last.epoch}-${last.seq}`);
  if (!Number.isSafeInteger(batch.epoch) || batch.epoch < to.epoch)
    throw invalid(`epoch is ${batch.epoch}, which must not be lower than the epoch ${to.epoch} of to`);
  if (batch.header.epoch !== to.epoch || batch.header.seq !== to.seq)
    throw invalid(`its header is folded up to ${batch.header.epoch}-${batch.header.seq}`);
  const turning = batch.events.some(({ type }) => type === "turn.start" || type === "turn.end");
  const hasNewerEvents = batch.events.some(({ v }) => v > batch.v);
  return { from, to, spans, turning, hasNewerEvents };

  function invalid(why: string): StoreError {
    return new StoreError("INVALID", `archive batch from ${batch.from} to ${batch.to}: ${why}`);
  }

  function spanAfter(before: Position, event: { readonly id: string; readonly first?: number }): EventSpan {
    const position = parseCursor(event.id);
    if (position === null) throw invalid("an event has an id that is not a cursor");
    const first = event.first ?? position.seq;
    if (first !== before.seq + 1 || first > position.seq || position.epoch < before.epoch)
      throw invalid(`the event at ${event.id} doesn't follow ${before.epoch}-${before.seq}`);
    return { ...position, first };
  }
}

/** Some events of a batch, stored together: a row for each would cost more than their content. */
export interface EventRow {
  /** The seq of its last event. */
  readonly last: number;
  /** An array of events. */
  readonly json: string;
}

/** Rows of about this length are read and compressed as a whole. */
const MAX_ROW_CHARS = 32_768;

/** A row has no events of two turns, so that a turn is read without its neighbours. */
export function toEventRows(events: readonly SessionEvent[], spans: readonly EventSpan[]): EventRow[] {
  const rows: EventRow[] = [];
  let texts: string[] = [];
  let chars = 0;
  events.forEach((event, n) => {
    const text = JSON.stringify(event);
    texts.push(text);
    chars += text.length;
    const next = events[n + 1];
    if (next !== undefined && next.type !== "turn.start" && chars < MAX_ROW_CHARS) return;
    rows.push({ last: spans[n]?.seq ?? 0, json: `[${texts.join(",")}]` });
    [texts, chars] = [[], 0];
  });
  return rows;
}

/** Maximum length of an outbox key. */
const MAX_KEY = 250;
/**
 * Maximum size of a draft. An event in the log has at most 64 KiB, of which 512 bytes are for other fields and the key,
 * as in `log/writer/oversize.ts`.
 */
const MAX_DRAFT_BYTES = 65_536 - 512;

/**
 * Refuses rows that the log would refuse, because they would stay in the outbox forever.
 * @returns the draft as JSON
 */
export function checkOutboxRow({ key, draft }: NewOutboxRow): string {
  if (key.length > MAX_KEY || !WRITER_ID_PATTERN.test(key))
    throw new StoreError("INVALID", `outbox key must be ${WRITER_ID_RULE}, at most ${MAX_KEY} characters`);
  const json = JSON.stringify(draft);
  if (Buffer.byteLength(json) > MAX_DRAFT_BYTES)
    throw new StoreError("TOO_LARGE", `the event of outbox row ${key}`);
  return json;
}

/** Returns the position after which the row's entry must be: the later of the archived position and the writer's. */
export function sinceOf(given: Cursor | undefined, archived: Position): Position {
  const since = given === undefined ? archived : checkCursor(given, "since");
  return comparePositions(since, archived) > 0 ? since : archived;
}
