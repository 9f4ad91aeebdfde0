/** Creates archive batches from logs like the archiver: merged events, folded turns and the header. */
import {
  listBlocks,
  type Cursor,
  type SessionEvent,
  foldAll,
  isPending,
  parseCursor,
  SCHEMA_VERSION,
  START_CURSOR,
  type Turn,
} from "@turnstream/protocol";
import { coalesce, outlivesTurn, turnSnapshot } from "@turnstream/protocol/writer";
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";

import type { ArchiveBatch } from "../../src/store/ports/archive.ts";

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
  const { turns, ...header } = foldAll(log.slice(0, end));
  const before = foldAll(log.slice(0, begin)).turns.toArray();
  const changed = turns.toArray().filter((turn, n) => !isSame(turn, before[n]));
  return {
    from,
    to,
    epoch: header.epoch,
    events: coalesce(log.slice(begin, end)),
    turns: changed.map((turn) => ({ snapshot: turnSnapshot(turn), open: hasOpenEnds(turn) })),
    header,
    v: SCHEMA_VERSION,
  } satisfies ArchiveBatch;
}

function isSame(a: Turn, b: Turn | undefined): boolean {
  return b !== undefined && JSON.stringify(turnSnapshot(a)) === JSON.stringify(turnSnapshot(b));
}

function hasOpenEnds(turn: Turn): boolean {
  return listBlocks(turn).some((block) => "version" in block && outlivesTurn(block) && isPending(block));
}
