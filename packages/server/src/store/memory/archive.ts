/** The archive in memory. */
import { type Event, formatCursor, parseCursor, type Position, type Snapshot } from "@turnstream/protocol";
import type { Archive, ArchiveBatch, ArchiveResult, SessionHeader } from "../ports/archive.ts";
import { type CheckedBatch, checkBatch, type Span } from "../rules/archive.ts";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import { settleOutbox } from "./outbox-rows.ts";
import { changeSession, requireSession, sessionRow, type SessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";
import { recordOf, TURNS, turnsOf } from "./turns.ts";

interface EventRow extends Span {
  readonly event: string;
}

const EVENTS = table<EventRow>("archived_events", "session");

export function memoryArchive(tables: MemoryTables, env: Env): Archive {
  return {
    header: (ref) => tables.run((rows) => headerOf(requireSession(rows, ref))),
    window: (ref, turns) =>
      tables.run((rows) => {
        const limit = turns === 0 ? 0 : checkLimit(turns, MAX_PAGE);
        const header = headerOf(requireSession(rows, ref));
        const all = turnsOf(rows, ref);
        const shown = all.filter((row, n) => row.open || n >= all.length - limit);
        const snapshots = shown.map((row) => recordOf(row).snapshot);
        return { ...header, turns: snapshots, earlier: all.length - shown.length };
      }),
    checkpoint: (ref) =>
      tables.run((rows) => {
        const { checkpoint } = requireSession(rows, ref);
        return checkpoint === null ? null : (JSON.parse(checkpoint) as Snapshot);
      }),
    write: async (ref, batch) => {
      const checked = checkBatch(batch);
      return tables.run((rows) => write(rows, env, ref, batch, checked));
    },
    events: (ref, { after, limit }) =>
      tables.run((rows) => {
        const from = checkCount(after, "after");
        const most = checkLimit(limit, MAX_BATCH);
        if (sessionRow(rows, ref) === undefined) return [];
        const found = eventsOf(rows, ref).filter((row) => row.seq > from);
        return found.slice(0, most).map((row) => JSON.parse(row.event) as Event);
      }),
  };
}

function eventsOf(rows: Rows, ref: Ref): EventRow[] {
  return rows.of(EVENTS, ref.session).toSorted((a, b) => a.seq - b.seq);
}

function headerOf(row: SessionRow) {
  const header = row.header === null ? null : (JSON.parse(row.header) as SessionHeader);
  return { archived: row.archived, header, v: row.v };
}

function write(rows: Rows, env: Env, ref: Ref, batch: ArchiveBatch, checked: CheckedBatch): ArchiveResult {
  const session = requireSession(rows, ref);
  const { to, spans, turning } = checked;
  if (session.archived !== formatCursor(checked.from)) {
    return passed(rows, ref, session.archived, to) ? "already" : { conflict: session.archived };
  }
  if (batch.events.length === 0) return "already";
  if (batch.epoch < session.epoch) return { behind: session.epoch };
  batch.events.forEach((event, n) => {
    const span = spans[n] as Span;
    rows.put(EVENTS, ref.session, String(span.seq), { ...span, event: JSON.stringify(event) });
  });
  for (const { snapshot, open } of batch.turns) {
    const { id, start, end, status } = snapshot;
    rows.put(TURNS, ref.session, id, { id, start, end, status, open, snapshot: JSON.stringify(snapshot) });
  }
  changeSession(rows, session, {
    archived: formatCursor(to),
    header: JSON.stringify(batch.header),
    v: batch.v,
    epoch: Math.max(session.epoch, batch.epoch),
    ...(turning ? { updatedAt: env.now() } : {}),
    ...(batch.checkpoint === undefined ? {} : { checkpoint: JSON.stringify(batch.checkpoint) }),
  });
  settleOutbox(rows, ref, batch.delivered ?? [], to, env.now());
  return "written";
}

/** Whether `to` is a position of what is archived: the same seq on a lost timeline has another epoch. */
function passed(rows: Rows, ref: Ref, archived: string, to: Position): boolean {
  if (to.seq > (parseCursor(archived)?.seq ?? 0)) return false;
  if (to.seq === 0) return to.epoch === 0;
  return eventsOf(rows, ref).find((row) => row.seq >= to.seq)?.epoch === to.epoch;
}
