/** Creates archive batches from logs like the archiver: merged events, folded turns and the header. */
import {
  type Cursor,
  type SessionEvent,
  foldAll,
  parseCursor,
  SCHEMA_VERSION,
  START_CURSOR,
} from "@turnstream/protocol";
import { coalesce } from "@turnstream/protocol/writer";
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";

import type { ArchiveBatch } from "../../src/store/archive.ts";
import { changedTurns } from "../../src/session/archive/archive.ts";

/** A log of `turns` turns with one text each, in epoch 1. */
export function chat(turns: number, text = "hello"): SessionEvent[] {
  const writer = new LogWriter().session();
  for (let n = 0; n < turns; n += 1) writer.begin("do it").text([text, ", ", text], { final: true }).end();
  return writer.events;
}

/** The part of `log` after `from`, up to its end or `to`. */
export function batchOf(
  log: readonly SessionEvent[],
  from: Cursor = START_CURSOR,
  to = log.at(-1)?.id ?? from,
) {
  const begin = parseCursor(from)?.seq ?? 0;
  const end = parseCursor(to)?.seq ?? 0;
  const before = foldAll(log.slice(0, begin));
  const after = foldAll(log.slice(begin, end), before);
  const { turns: _, ...header } = after;
  return {
    from,
    to,
    epoch: header.epoch,
    events: coalesce(log.slice(begin, end)),
    turns: changedTurns(before, after),
    header,
    v: SCHEMA_VERSION,
  } satisfies ArchiveBatch;
}
