/**
 * `readTurnEvents` yields the events of one turn, old and new ones, until the turn has ended. It reads the log, and the
 * archive where the log was trimmed or has expired.
 *
 * Invariant: it yields the events in order and none twice, or throws. After a loss, a log can have other events at
 * positions that were already read.
 */
import {
  classifyEvent,
  type Cursor,
  formatCursor,
  parseCursor,
  type Position,
  type SessionEvent,
} from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";
import { TurnError } from "./turn-error.ts";

const ARCHIVE_PAGE = 200;

/**
 * @param turn.before the position directly before the first event to yield
 * @throws the signal's reason, or TurnError INTERRUPTED
 */
export async function* readTurnEvents(
  backend: Backend,
  ref: SessionRef,
  { turn, before }: { readonly turn: string; readonly before: Cursor },
  signal: AbortSignal,
): AsyncGenerator<SessionEvent, void> {
  for await (const event of readEvents(backend, ref, before, signal)) {
    if (!("turn" in event) || event.turn !== turn) continue;
    yield event;
    if (event.type === "turn.end") return;
  }
  throw new TurnError("INTERRUPTED", `turn ${turn}`);
}

/** Ends when neither log nor archive continue after the last position. */
async function* readEvents(
  { store, log }: Backend,
  ref: SessionRef,
  after: Cursor,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent, void> {
  const readFloor = async (): Promise<Cursor> => (await store.archive.header(ref)).archived;
  let last: Position | null = parseCursor(after);
  for (let from: Position | null = null; last !== null && last !== from;) {
    from = last;
    for await (const delivery of log.attach(ref, { after: formatCursor(last), readFloor, signal }))
      for (const entry of delivery.type === "entries" ? delivery.entries : []) {
        last = entry;
        yield entry.event;
      }
    signal.throwIfAborted();
    for (const event of await store.archive.events(ref, { after: last.seq, limit: ARCHIVE_PAGE })) {
      if (classifyEvent(last, event) !== "next") return;
      last = parseCursor(event.id) ?? last;
      yield event;
    }
  }
}
