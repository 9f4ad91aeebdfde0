/**
 * Whether an archive batch is whole: its events cover exactly what lies between its ends, in order and without
 * holes. Pure; says nothing about what is stored already.
 */
import { comparePositions, type Cursor, parseCursor, type Position } from "@turnstream/protocol";
import { WRITER_ID_PATTERN, WRITER_ID_RULE } from "../../util/names.ts";
import { StoreError } from "../errors.ts";
import type { ArchiveBatch, NewOutboxRow } from "../ports/archive.ts";
import { checkCursor } from "./arguments.ts";

export interface CheckedBatch {
  readonly from: Position;
  readonly to: Position;
  /** The span of each event, in the order of `batch.events`. */
  readonly spans: readonly EventSpan[];
  /** Whether a turn starts or ends in it. */
  readonly turning: boolean;
}

export interface EventSpan extends Position {
  /** The first seq; `seq` is the last. */
  readonly first: number;
}

export function checkBatch(batch: ArchiveBatch): CheckedBatch {
  const from = checkCursor(batch.from, "from");
  const to = checkCursor(batch.to, "to");
  if (comparePositions(from, to) > 0) throw invalid(`it ends at ${batch.to}, before its beginning`);
  const spans: EventSpan[] = [];
  let last = from;
  for (const event of batch.events) {
    const span = spanAfter(last, event);
    spans.push(span);
    last = span;
  }
  if (comparePositions(last, to) !== 0) throw invalid(`its events end at ${last.epoch}-${last.seq}`);
  if (!Number.isSafeInteger(batch.epoch) || batch.epoch < to.epoch)
    throw invalid(`no log of epoch ${batch.epoch} has an event of epoch ${to.epoch}`);
  if (batch.header.epoch !== to.epoch || batch.header.seq !== to.seq)
    throw invalid(`its header is folded up to ${batch.header.epoch}-${batch.header.seq}`);
  const turning = batch.events.some(({ type }) => type === "turn.start" || type === "turn.end");
  return { from, to, spans, turning };

  function invalid(why: string): StoreError {
    return new StoreError("INVALID", `archive batch from ${batch.from} to ${batch.to}: ${why}`);
  }

  function spanAfter(before: Position, event: { readonly id: string; readonly first?: number }): EventSpan {
    const position = parseCursor(event.id);
    if (position === null) throw invalid("one of its events has no position");
    const first = event.first ?? position.seq;
    if (first !== before.seq + 1 || first > position.seq || position.epoch < before.epoch)
      throw invalid(`the event at ${event.id} doesn't follow ${before.epoch}-${before.seq}`);
    return { ...position, first };
  }
}

/** What the outbox takes: only what the log will take too, for a row that it refuses would wait for ever. Pure. */
const MAX_KEY = 250;
/** An event in the log has at most 64 KiB; this leaves room for its stamp and its key, as much as log/oversize.ts does. */
const MAX_DRAFT_BYTES = 65_536 - 512;

/** @returns the draft as JSON */
export function checkOutboxRow({ key, draft }: NewOutboxRow): string {
  if (key.length > MAX_KEY || !WRITER_ID_PATTERN.test(key))
    throw new StoreError("INVALID", `an outbox key must be ${WRITER_ID_RULE}, at most ${MAX_KEY}`);
  const json = JSON.stringify(draft);
  if (Buffer.byteLength(json) > MAX_DRAFT_BYTES)
    throw new StoreError("TOO_LARGE", `the event of outbox row ${key}`);
  return json;
}

/** From where on an entry can be: the later of what is archived and what the writer knows. */
export function sinceOf(given: Cursor | undefined, archived: Position): Position {
  const since = given === undefined ? archived : checkCursor(given, "since");
  return comparePositions(since, archived) > 0 ? since : archived;
}
