/**
 * `postgresArchive` and `postgresTurns` implement the archive and archived turns on PostgreSQL.
 *
 * Invariant: one transaction writes events, turns, header and outbox marks, with the session's row locked. Position and
 * epoch are compared under this lock. `window` is one statement, so header and turns are from the same moment.
 */
import { sql } from "kysely";
import { formatCursor, type Position, type TurnSnapshot, type TurnStatus } from "@turnstream/protocol";
import type {
  Archive,
  ArchiveBatch,
  ArchivedTurn,
  ArchiveResult,
  TurnRecord,
  Turns,
} from "../ports/archive.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkBatch, type CheckedBatch } from "../rules/archive.ts";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import type { Db } from "./database.ts";
import { reopened } from "./outbox.ts";
import { clock, inTransaction, lockSession, ofSession, sessionNotFound } from "./session-row.ts";

export function postgresArchive(db: Db): Archive {
  return {
    async header(ref) {
      const row = await headerOf(db, ref).executeTakeFirst();
      if (row === undefined) throw sessionNotFound(ref);
      return { archived: cursorOf(row), header: row.header, v: row.v };
    },
    async window(ref, turns) {
      const row = await windowQuery(db, ref, turns).executeTakeFirst();
      if (row === undefined) throw sessionNotFound(ref);
      const { header, v, turn_count, turns: shown } = row;
      return { archived: cursorOf(row), header, v, turns: shown, earlier: turn_count - shown.length };
    },
    async checkpoint(ref) {
      const row = await db
        .selectFrom("sessions")
        .select("checkpoint")
        .where("id", "=", ref.session)
        .where("tenant_id", "=", ref.tenant)
        .executeTakeFirst();
      if (row === undefined) throw sessionNotFound(ref);
      return row.checkpoint;
    },
    write: (ref, batch) => {
      const checked = checkBatch(batch);
      return inTransaction(db, (tx) => write(tx, ref, batch, checked));
    },
    async events(ref, { after, limit }) {
      const rows = await ofSession(db.selectFrom("archived_events"), ref)
        .select("event")
        .where("last_seq", ">", checkCount(after, "after"))
        .orderBy("last_seq")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map((row) => row.event);
    },
  };
}

function cursorOf(row: { archived_epoch: number; archived_seq: number }): string {
  return formatCursor({ epoch: row.archived_epoch, seq: row.archived_seq });
}

function headerOf(db: Db, ref: SessionRef) {
  return db
    .selectFrom("sessions")
    .select(["archived_epoch", "archived_seq", "header", "v", "turn_count"])
    .where("sessions.id", "=", ref.session)
    .where("tenant_id", "=", ref.tenant);
}

/**
 * One statement, so that header and turns are from the same moment. It passes the session id again instead of taking it
 * from the row: otherwise the planner can't estimate the number of turns.
 */
function windowQuery(db: Db, ref: SessionRef, turns: number) {
  const limit = turns === 0 ? 0 : checkLimit(turns, MAX_PAGE);
  return headerOf(db, ref).select(
    sql<TurnSnapshot[]>`coalesce((
      with newest as (
        select start_seq, snapshot from turns
        where tenant_id = ${ref.tenant} and session_id = ${ref.session} order by start_seq desc limit ${limit}
      )
      select json_agg(snapshot order by start_seq) from (
        select start_seq, snapshot from newest
        union all
        select start_seq, snapshot from turns
        where tenant_id = ${ref.tenant} and session_id = ${ref.session} and open
          and start_seq < coalesce((select min(start_seq) from newest), 1e15::bigint)
      ) shown
    ), '[]'::json)`.as("turns"),
  );
}

async function write(
  tx: Db,
  ref: SessionRef,
  batch: ArchiveBatch,
  checked: CheckedBatch,
): Promise<ArchiveResult> {
  const locked = await lockSession(tx, ref);
  const archived = { epoch: locked.archived_epoch, seq: locked.archived_seq };
  const { from, to } = checked;
  if (archived.epoch !== from.epoch || archived.seq !== from.seq) {
    return (await passed(tx, ref, archived, to)) ? "already" : { conflict: formatCursor(archived) };
  }
  if (batch.events.length === 0) return "already";
  if (batch.epoch < locked.epoch) return { behind: locked.epoch };
  await insertEvents(tx, ref, batch, checked);
  const added = await upsertTurns(tx, ref, batch.turns);
  await tx
    .updateTable("sessions")
    .set({
      archived_epoch: to.epoch,
      archived_seq: to.seq,
      header: JSON.stringify(batch.header),
      v: batch.v,
      turn_count: sql<number>`turn_count + ${added}::bigint`,
      // An epoch that the log has reached was issued, whatever this database has stored.
      epoch: sql<number>`greatest(epoch, ${batch.epoch}::bigint)`,
      ...(checked.turning ? { updated_at: clock } : {}),
      ...(batch.checkpoint === undefined ? {} : { checkpoint: JSON.stringify(batch.checkpoint) }),
    })
    .where("id", "=", ref.session)
    .where("tenant_id", "=", ref.tenant)
    .execute();
  await settleOutbox(tx, ref, batch.delivered ?? [], to);
  return "written";
}

/** True if `to` is an archived position. The same seq on a lost timeline has another epoch. */
async function passed(tx: Db, ref: SessionRef, archived: Position, to: Position): Promise<boolean> {
  if (to.seq > archived.seq) return false;
  if (to.seq === 0) return to.epoch === 0;
  const row = await ofSession(tx.selectFrom("archived_events"), ref)
    .select("epoch")
    .where("last_seq", ">=", to.seq)
    .orderBy("last_seq")
    .limit(1)
    .executeTakeFirst();
  return row?.epoch === to.epoch;
}

/**
 * Marks the rows whose entries are archived. Other rows that were delivered at or before `to` were lost with an earlier
 * timeline and must be delivered again.
 */
async function settleOutbox(tx: Db, ref: SessionRef, keys: readonly string[], to: Position): Promise<void> {
  if (keys.length > 0) {
    await ofSession(tx.updateTable("outbox"), ref)
      .set({ archived_at: clock, delivered_at: sql<Date>`coalesce(delivered_at, clock_timestamp())` })
      .where("key", "=", sql<string>`any(${[...keys]}::text[])`)
      .where("archived_at", "is", null)
      .execute();
  }
  await reopened(tx, ref)
    .where(sql<boolean>`(cursor_epoch, cursor_seq) <= (${to.epoch}::bigint, ${to.seq}::bigint)`)
    .execute();
}

/**
 * Inserts the events of a batch in one statement. Columns are passed as arrays, because a large batch with one
 * parameter per value would exceed the limit of a statement.
 */
async function insertEvents(
  tx: Db,
  ref: SessionRef,
  { events }: ArchiveBatch,
  { spans }: CheckedBatch,
): Promise<void> {
  await sql`
    insert into archived_events (tenant_id, session_id, first_seq, last_seq, epoch, turn_id, type, at, event)
    select ${ref.tenant}, ${ref.session}, * from unnest(
      ${spans.map((span) => span.first)}::bigint[],
      ${spans.map((span) => span.seq)}::bigint[],
      ${spans.map((span) => span.epoch)}::bigint[],
      ${events.map((event) => ("turn" in event ? event.turn : null))}::text[],
      ${events.map((event) => event.type)}::text[],
      ${events.map((event) => event.at)}::bigint[],
      ${events.map((event) => JSON.stringify(event))}::json[]
    )`.execute(tx);
}

/** @returns how many of them are new */
async function upsertTurns(tx: Db, ref: SessionRef, turns: readonly ArchivedTurn[]): Promise<number> {
  if (turns.length === 0) return 0;
  const snapshots = turns.map((turn) => turn.snapshot);
  const { rows } = await sql<{ added: boolean }>`
    insert into turns (tenant_id, session_id, id, start_seq, end_seq, status, open, snapshot)
    select ${ref.tenant}, ${ref.session}, * from unnest(
      ${snapshots.map((turn) => turn.id)}::text[],
      ${snapshots.map((turn) => turn.start)}::bigint[],
      ${snapshots.map((turn) => turn.end)}::bigint[],
      ${snapshots.map((turn) => turn.status)}::text[],
      ${turns.map((turn) => turn.open)}::boolean[],
      ${snapshots.map((turn) => JSON.stringify(turn))}::json[]
    )
    on conflict (tenant_id, session_id, id) do update set
      end_seq = excluded.end_seq, status = excluded.status, open = excluded.open, snapshot = excluded.snapshot
    returning (xmax = 0) as added`.execute(tx);
  return rows.filter((row) => row.added).length;
}

export function postgresTurns(db: Db): Turns {
  return {
    async get(ref, id) {
      const row = await turnsOf(db, ref).where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : recordOf(row);
    },
    async list(ref, { limit, before }) {
      let query = turnsOf(db, ref).orderBy("start_seq", "desc").limit(checkLimit(limit, MAX_PAGE));
      if (before !== undefined) query = query.where("start_seq", "<", checkCount(before, "before"));
      return (await query.execute()).map(recordOf);
    },
    async open(ref) {
      const open = turnsOf(db, ref).where("open", "=", true).orderBy("start_seq").limit(MAX_BATCH);
      return (await open.execute()).map(recordOf);
    },
  };
}

function turnsOf(db: Db, ref: SessionRef) {
  return ofSession(db.selectFrom("turns"), ref).select([
    "id",
    "start_seq",
    "end_seq",
    "status",
    "open",
    "snapshot",
  ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof turnsOf>["execute"]>>[number];

function recordOf(row: Row): TurnRecord {
  return {
    id: row.id,
    start: row.start_seq,
    end: row.end_seq,
    status: row.status as TurnStatus,
    open: row.open,
    snapshot: row.snapshot,
  };
}
