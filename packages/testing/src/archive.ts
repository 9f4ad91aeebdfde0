/**
 * `memoryArchive`, `memoryOutbox` and `memoryTurns` implement the archive, the outbox and archived turns in memory.
 *
 * Invariant: they behave like those on PostgreSQL. A batch is written only from the archived position and not under an
 * older epoch. An archived outbox row is never reopened. A row that was delivered at or before the archived position but
 * not archived was lost, and is due again.
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
  type TakeQuery,
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
import { addEntries } from "./journal.ts";
import { runningOf } from "./running-rows.ts";
import { changeSession, requireSession, type SessionRow } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, sessionTable } from "./tables.ts";

interface EventRow extends EventSpan {
  readonly event: string;
}

const EVENTS = sessionTable<EventRow>("archived_events");

export function memoryArchive(tables: MemoryTables, env: Env): Archive {
  const part = createPart<Omit<Archive, "window">>(tables, {
    header: (rows, ref) => headerOf(requireSession(rows, ref)),
    // The rows of an erased session are deleted with it.
    maintain: (_) => ({ moved: 0, dropped: 0 }),
    checkpoint(rows, ref) {
      const { checkpoint } = requireSession(rows, ref);
      return checkpoint === null ? null : (JSON.parse(checkpoint) as Snapshot);
    },
    write: (rows, ref, batch) => write(rows, env, ref, batch, checkBatch(batch)),
    events(rows, ref, { after, limit }) {
      const from = checkCount(after, "after");
      const most = checkLimit(limit, MAX_BATCH);
      const found = eventsOf(rows, ref).filter((row) => row.seq > from);
      return found.slice(0, most).map(eventOf);
    },
  });
  return {
    ...part,
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

interface StoredOutboxRow extends Omit<OutboxRow, "draft"> {
  readonly draft: string;
  readonly nextAttemptAt: number;
  readonly deliveredAt: number | null;
  readonly cursor: Cursor | null;
  readonly archivedAt: number | null;
}

/** By key, within the session. */
const OUTBOX = sessionTable<StoredOutboxRow>("outbox");

/** Returns a session's rows in order. */
function outboxOf(rows: Rows, ref: SessionRef): StoredOutboxRow[] {
  return rows.of(OUTBOX, ref).toSorted((a, b) => a.id - b.id);
}

function changeOutboxRow(rows: Rows, row: StoredOutboxRow, change: Partial<StoredOutboxRow>): void {
  rows.put(OUTBOX, row, row.key, { ...row, ...change });
}

/** Makes rows due again that were delivered but not archived: all of them, or those at or before a position. */
export function reopenRows(rows: Rows, ref: SessionRef, now: number, upTo: Position | null): number {
  const isLost = ({ cursor }: StoredOutboxRow) =>
    upTo === null || comparePositions(parseCursor(cursor) ?? upTo, upTo) <= 0;
  const lost = outboxOf(rows, ref).filter(
    (row) => row.deliveredAt !== null && row.archivedAt === null && isLost(row),
  );
  for (const row of lost) changeOutboxRow(rows, row, { deliveredAt: null, cursor: null, nextAttemptAt: now });
  return lost.length;
}

/** Marks the rows whose entries are archived. Other rows delivered at or before `to` were lost and are due again. */
function settleOutbox(rows: Rows, ref: SessionRef, keys: readonly string[], to: Position, now: number): void {
  for (const row of outboxOf(rows, ref)) {
    if (!keys.includes(row.key) || row.archivedAt !== null) continue;
    changeOutboxRow(rows, row, { archivedAt: now, deliveredAt: row.deliveredAt ?? now });
  }
  reopenRows(rows, ref, now, to);
}

export function memoryOutbox(tables: MemoryTables, env: Env): Outbox {
  return createPart<Outbox>(tables, {
    add(rows, ref, row) {
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
    },
    undelivered: (rows, ref, limit) =>
      outboxOf(rows, ref).filter(isUndelivered).slice(0, checkLimit(limit, MAX_BATCH)).map(outboxRowOf),
    isUndelivered: (rows, ref, key) =>
      outboxOf(rows, ref).some((row) => row.key === key && isUndelivered(row)),
    take: (rows, query) => lease(rows, env, query, firstRows(rows), ({ createdAt }) => createdAt),
    takeUnarchived: (rows, query) =>
      lease(rows, env, query, rows.all(OUTBOX), ({ archivedAt, deliveredAt }) =>
        archivedAt === null ? deliveredAt : null,
      ),
    delivered(rows, ref, key, cursor) {
      checkCursor(cursor, "cursor");
      const row = outboxOf(rows, ref).find((candidate) => candidate.key === key && isUndelivered(candidate));
      if (row !== undefined) changeOutboxRow(rows, row, { deliveredAt: env.now(), cursor });
      return row !== undefined;
    },
    postpone(rows, ref) {
      const waiting = outboxOf(rows, ref).filter(isUndelivered);
      const attempts = (waiting[0]?.attempts ?? 0) + 1;
      const nextAttemptAt = env.now() + backoffMs(attempts);
      waiting.forEach((row, n) =>
        changeOutboxRow(rows, row, n === 0 ? { attempts, nextAttemptAt } : { nextAttemptAt }),
      );
    },
    reopen: (rows, ref) => reopenRows(rows, ref, env.now(), null),
    prune: () => 0,
  });
}

/** Leases the sessions of rows that are due. @param since from when on a row waits; null if it doesn't */
function lease(
  rows: Rows,
  env: Env,
  { limit, olderThanMs, leaseMs }: TakeQuery,
  found: readonly StoredOutboxRow[],
  since: (row: StoredOutboxRow) => number | null,
): SessionRef[] {
  const now = env.now();
  const before = now - checkCount(olderThanMs, "olderThanMs");
  const due = found
    .filter((row) => row.nextAttemptAt <= now && (since(row) ?? Infinity) <= before)
    .toSorted((a, b) => a.nextAttemptAt - b.nextAttemptAt || a.id - b.id)
    .slice(0, checkLimit(limit, MAX_BATCH));
  const nextAttemptAt = now + checkCount(leaseMs, "leaseMs");
  for (const row of due) changeOutboxRow(rows, row, { nextAttemptAt });
  const refs = due.map(({ tenant, session }): SessionRef => ({ tenant, session }));
  return [...new Map(refs.map((ref) => [sessionKey(ref), ref])).values()];
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
