/**
 * `memoryArchive`, `memoryOutbox` and `memoryTurns` implement the archive, the outbox and archived turns in memory.
 *
 * Invariant: they behave like those on PostgreSQL. A batch is written only from the archived position and not under an
 * older epoch. Events, turns, header and outbox marks change in one `tables.run`.
 */
import {
  type Archive,
  type ArchiveBatch,
  type ArchivedTurn,
  type ArchiveResult,
  backoffMs,
  checkBatch,
  checkCount,
  checkCursor,
  checkDuration,
  type CheckedBatch,
  checkLimit,
  checkOutboxRow,
  type Env,
  type EventSpan,
  foldStoredTurns,
  MAX_BATCH,
  MAX_PAGE,
  nextFoldVersion,
  type Outbox,
  type OutboxRow,
  type SessionHeader,
  sessionKey,
  type SessionRef,
  type TurnRecord,
  type Turns,
  upgradeTurns,
  upgradeWindow,
} from "@turnstream/server/internal";
import {
  comparePositions,
  type Cursor,
  type SessionEvent,
  formatCursor,
  parseCursor,
  type Position,
  type Snapshot,
  upgradeEvent,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import {
  changeOutboxRow,
  OUTBOX,
  outboxOf,
  reopenRows,
  settleOutbox,
  type StoredOutboxRow,
} from "./outbox-rows.ts";
import { addEntries } from "./journal.ts";
import { runningOf } from "./running-rows.ts";
import { changeSession, requireSession, sessionRow, type SessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, sessionTable } from "./tables.ts";

interface EventRow extends EventSpan {
  readonly event: string;
}

const EVENTS = sessionTable<EventRow>("archived_events");

export function memoryArchive(tables: MemoryTables, env: Env): Archive {
  return {
    header: (ref) => tables.run((rows) => headerOf(requireSession(rows, ref))),
    // The rows of an erased session are deleted with it.
    maintain: async () => ({ moved: 0, dropped: 0 }),
    async window(ref, turns) {
      const { header, shown, earlier } = await tables.run((rows) => {
        const limit = turns === 0 ? 0 : checkLimit(turns, MAX_PAGE);
        const all = turnsOf(rows, ref);
        const chosen = all.filter((row, n) => row.open || n >= all.length - limit);
        return {
          header: headerOf(requireSession(rows, ref)),
          shown: withEvents(rows, ref, chosen),
          earlier: all.length - chosen.length,
        };
      });
      return { ...header, ...upgradeWindow(header.v, await recordsOf(shown)), earlier };
    },
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
        return found.slice(0, most).map(eventOf);
      }),
  };
}

function eventsOf(rows: Rows, ref: SessionRef): EventRow[] {
  return rows.of(EVENTS, ref).toSorted((a, b) => a.seq - b.seq);
}

function eventOf(row: EventRow): SessionEvent {
  return upgradeEvent(JSON.parse(row.event) as SessionEvent);
}

function headerOf(row: SessionRow) {
  const header = row.header === null ? null : (JSON.parse(row.header) as SessionHeader);
  return { archived: row.archived, header, v: row.v };
}

function write(
  rows: Rows,
  env: Env,
  ref: SessionRef,
  batch: ArchiveBatch,
  checked: CheckedBatch,
): ArchiveResult {
  const session = requireSession(rows, ref);
  const { journal = [] } = batch;
  const { to, spans, turning, hasNewerEvents } = checked;
  if (session.archived !== formatCursor(checked.from)) {
    if (!passed(rows, ref, session.archived, to)) return { conflict: session.archived };
    addEntries(rows, ref, journal);
    return "already";
  }
  if (batch.events.length > 0 && batch.epoch < session.epoch) return { behind: session.epoch };
  addEntries(rows, ref, journal);
  if (batch.events.length === 0) return "already";
  batch.events.forEach((event, n) => {
    const span = spans[n] as EventSpan;
    rows.put(EVENTS, ref, String(span.seq), { ...span, event: JSON.stringify(event) });
  });
  for (const { message, snapshot, ...turn } of batch.turns) {
    const v = nextFoldVersion(rows.get(TURNS, ref, turn.id)?.v ?? null, batch.v, hasNewerEvents);
    rows.put(TURNS, ref, turn.id, { ...turn, content: JSON.stringify({ message, snapshot }), v });
  }
  changeSession(rows, session, {
    archived: formatCursor(to),
    header: JSON.stringify(batch.header),
    v: nextFoldVersion(session.v, batch.v, hasNewerEvents),
    epoch: Math.max(session.epoch, batch.epoch),
    ...(turning ? { updatedAt: env.now() } : {}),
    ...(batch.checkpoint === undefined ? {} : { checkpoint: JSON.stringify(batch.checkpoint) }),
  });
  settleOutbox(rows, ref, batch.delivered ?? [], to, env.now());
  return "written";
}

/** True if `to` is an archived position. The same seq on a lost timeline has another epoch. */
function passed(rows: Rows, ref: SessionRef, archived: string, to: Position): boolean {
  if (to.seq > (parseCursor(archived)?.seq ?? 0)) return false;
  if (to.seq === 0) return to.epoch === 0;
  return eventsOf(rows, ref).find((row) => row.seq >= to.seq)?.epoch === to.epoch;
}

export function memoryOutbox(tables: MemoryTables, env: Env): Outbox {
  return {
    add: (ref, row) =>
      tables.run((rows) => {
        const draft = checkOutboxRow(row);
        const relayAfterMs = checkDuration(row.relayAfterMs ?? 0, "relayAfterMs");
        const { archived } = requireSession(rows, ref);
        const since = sinceOf(row.since, parseCursor(archived) ?? { epoch: 0, seq: 0 });
        if (rows.get(OUTBOX, ref, row.key) !== undefined) return "already";
        const now = env.now();
        rows.put(OUTBOX, ref, row.key, {
          tenant: ref.tenant,
          session: ref.session,
          id: rows.next("outbox"),
          key: row.key,
          draft,
          since: formatCursor(since),
          attempts: 0,
          createdAt: now,
          nextAttemptAt: now + (runningOf(rows, ref) === undefined ? relayAfterMs : 0),
          deliveredAt: null,
          cursor: null,
          archivedAt: null,
        });
        return "added";
      }),
    undelivered: (ref, limit) =>
      tables.run((rows) =>
        outboxOf(rows, ref).filter(isUndelivered).slice(0, checkLimit(limit, MAX_BATCH)).map(outboxRowOf),
      ),
    isUndelivered: (ref, key) =>
      tables.run((rows) => outboxOf(rows, ref).some((row) => row.key === key && isUndelivered(row))),
    take: ({ limit, olderThanMs, leaseMs }) =>
      tables.run((rows) => {
        const now = env.now();
        const createdBy = now - checkCount(olderThanMs, "olderThanMs");
        const due = firstRows(rows)
          .filter((row) => row.nextAttemptAt <= now && row.createdAt <= createdBy)
          .toSorted((a, b) => a.nextAttemptAt - b.nextAttemptAt || a.id - b.id)
          .slice(0, checkLimit(limit, MAX_BATCH));
        const nextAttemptAt = now + checkCount(leaseMs, "leaseMs");
        for (const row of due) changeOutboxRow(rows, row, { nextAttemptAt });
        return due.map(({ tenant, session }): SessionRef => ({ tenant, session }));
      }),
    takeUnarchived: ({ limit, olderThanMs, leaseMs }) =>
      tables.run((rows) => {
        const now = env.now();
        const deliveredBy = now - checkCount(olderThanMs, "olderThanMs");
        const due = rows
          .all(OUTBOX)
          .filter((row) => row.archivedAt === null && (row.deliveredAt ?? Infinity) <= deliveredBy)
          .filter((row) => row.nextAttemptAt <= now)
          .toSorted((a, b) => (a.deliveredAt ?? 0) - (b.deliveredAt ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH));
        const nextAttemptAt = now + checkCount(leaseMs, "leaseMs");
        for (const row of due) changeOutboxRow(rows, row, { nextAttemptAt });
        const refs = due.map(({ tenant, session }): SessionRef => ({ tenant, session }));
        return [...new Map(refs.map((ref) => [sessionKey(ref), ref])).values()];
      }),
    delivered: async (ref, key, cursor) => {
      checkCursor(cursor, "cursor");
      return tables.run((rows) => {
        const row = outboxOf(rows, ref).find(
          (candidate) => candidate.key === key && isUndelivered(candidate),
        );
        if (row !== undefined) changeOutboxRow(rows, row, { deliveredAt: env.now(), cursor });
        return row !== undefined;
      });
    },
    postpone: (ref) =>
      tables.run((rows) => {
        const waiting = outboxOf(rows, ref).filter(isUndelivered);
        const attempts = (waiting[0]?.attempts ?? 0) + 1;
        const nextAttemptAt = env.now() + backoffMs(attempts);
        waiting.forEach((row, n) =>
          changeOutboxRow(rows, row, n === 0 ? { attempts, nextAttemptAt } : { nextAttemptAt }),
        );
      }),
    reopen: (ref) => tables.run((rows) => reopenRows(rows, ref, env.now(), null)),
    prune: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkCount(olderThanMs, "olderThanMs");
        const old = rows
          .all(OUTBOX)
          .filter((row) => row.archivedAt !== null && row.archivedAt <= before)
          .toSorted((a, b) => (a.archivedAt ?? 0) - (b.archivedAt ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH));
        for (const row of old) rows.remove(OUTBOX, row, row.key);
        return old.length;
      }),
  };
}

function isUndelivered(row: StoredOutboxRow): boolean {
  return row.deliveredAt === null;
}

/** Returns the first undelivered row of every session. */
function firstRows(rows: Rows): StoredOutboxRow[] {
  const first = new Map<string, StoredOutboxRow>();
  for (const row of rows.all(OUTBOX)) {
    const key = sessionKey(row);
    if (isUndelivered(row) && row.id < (first.get(key)?.id ?? Infinity)) first.set(key, row);
  }
  return [...first.values()];
}

function outboxRowOf(stored: StoredOutboxRow): OutboxRow {
  const { draft, nextAttemptAt: _n, deliveredAt: _d, cursor: _c, archivedAt: _a, ...row } = stored;
  return { ...row, draft: JSON.parse(draft) as EventDraft };
}

interface TurnRow extends Omit<TurnRecord, "snapshot"> {
  /** `message` and `snapshot` as JSON. */
  readonly content: string;
}

const TURNS = sessionTable<TurnRow>("turns");

export function memoryTurns(tables: MemoryTables, archive: Archive): Turns {
  const read = async (ref: SessionRef, choose: (turns: TurnRow[]) => TurnRow[]): Promise<TurnRecord[]> => {
    const chosen = await tables.run((rows) => withEvents(rows, ref, choose(turnsOf(rows, ref))));
    return upgradeTurns(archive, ref, await recordsOf(chosen));
  };
  return {
    get: async (ref, id) => (await read(ref, (turns) => turns.filter((row) => row.id === id)))[0] ?? null,
    list: (ref, { limit, before }) =>
      read(ref, (turns) => {
        const end = before === undefined ? Infinity : checkCount(before, "before");
        const older = turns.filter((row) => row.start < end).toReversed();
        return older.slice(0, checkLimit(limit, MAX_PAGE));
      }),
  };
}

/** Returns the turns ascending by start. */
function turnsOf(rows: Rows, ref: SessionRef): TurnRow[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows.of(TURNS, ref).toSorted((a, b) => a.start - b.start);
}

function withEvents(rows: Rows, ref: SessionRef, turns: readonly TurnRow[]) {
  const all = turns.length === 0 ? [] : eventsOf(rows, ref);
  return turns.map(({ content, ...row }) => {
    const stored = JSON.parse(content) as Pick<ArchivedTurn, "message" | "snapshot">;
    const events = all.filter(({ seq }) => seq >= row.start && seq <= (row.end ?? Infinity));
    return { row: { ...row, ...stored }, events: events.map(eventOf) };
  });
}

async function recordsOf(turns: ReturnType<typeof withEvents>): Promise<TurnRecord[]> {
  const folded = await foldStoredTurns(turns);
  return folded.map(({ row: { message: _, ...row }, turn }) => ({ ...row, ...turn }));
}

/** Returns the position after which the row's entry must be: the later of the archived position and the writer's. */
function sinceOf(given: Cursor | undefined, archived: Position): Position {
  const since = given === undefined ? archived : checkCursor(given, "since");
  return comparePositions(since, archived) > 0 ? since : archived;
}
