/**
 * `writeArchive` writes one batch of the archive, and the journal entries that belong to it.
 *
 * Invariant: it is one statement, so it needs no transaction of its own. The statement locks the session and its row of
 * `turn_queue`, and compares position and epochs with the rows as they are then, not as they were when it started. Either everything is
 * written or nothing.
 */
import { formatCursor, type Position, parseCursor } from "@turnstream/protocol";
import { type RawBuilder, sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import {
  type ArchiveBatch,
  type CheckedBatch,
  type ArchiveResult,
  toEventRows,
  exactAfter,
  nextFoldVersion,
} from "./archive.ts";
import type { Db } from "./database/database.ts";
import { sessionNotFound, ofSession, periodOf } from "./database/session-row.ts";
import {
  checkJournalEntries,
  fencedError,
  writeJournal,
  type CheckedEntries,
  isCurrent,
  journaled,
} from "./journal.ts";

interface Locked {
  readonly epoch: number;
  readonly archived_epoch: number;
  readonly archived_seq: number;
  readonly is_written: boolean;
}

export async function writeArchive(
  db: Db,
  ref: SessionRef,
  batch: ArchiveBatch,
  checked: CheckedBatch,
): Promise<ArchiveResult> {
  const entries = checkJournalEntries(batch.journal ?? []);
  const { to } = checked;
  const row = await writeBatch(db, ref, batch, checked, entries);
  if (row === undefined) throw sessionNotFound(ref);
  if (row.is_written) return "written";
  const { from } = checked;
  const archived = { epoch: row.archived_epoch, seq: row.archived_seq };
  const isFollowing = archived.epoch === from.epoch && archived.seq === from.seq;
  if (!isFollowing && !(await passed(db, ref, archived, to))) return { conflict: formatCursor(archived) };
  if (isFollowing && batch.events.length > 0) {
    if (batch.epoch < row.epoch) return { behind: row.epoch };
    throw fencedError(ref, entries?.epoch ?? 0);
  }
  // The events are archived, or there are none. Only the entries are left.
  if (batch.journal !== undefined) await writeJournal(db, ref, batch.journal);
  return "already";
}

/** True if `to` is an archived position. The same seq on a lost timeline has another epoch. */
async function passed(db: Db, ref: SessionRef, archived: Position, to: Position): Promise<boolean> {
  if (to.seq > archived.seq) return false;
  if (to.seq === 0) return to.epoch === 0;
  const row = await ofSession(db.selectFrom("archived_events"), ref)
    .select("events")
    .where("period", "=", periodOf(ref))
    .where("last_seq", ">=", to.seq)
    .orderBy("last_seq")
    .limit(1)
    .executeTakeFirst();
  const positions = row?.events.map(({ id }) => parseCursor(id)) ?? [];
  return positions.find((position) => (position?.seq ?? 0) >= to.seq)?.epoch === to.epoch;
}

/**
 * The columns of new rows are passed as arrays, because a large batch with one parameter per value would exceed the
 * limit of a statement. Outbox rows that were delivered at or before `to`, but are not in the batch, were lost with an
 * earlier timeline and must be delivered again.
 */
async function writeBatch(
  db: Db,
  ref: SessionRef,
  batch: ArchiveBatch,
  { from, to, spans, turning, hasNewerEvents }: CheckedBatch,
  entries: CheckedEntries | null,
): Promise<Locked | undefined> {
  const { events, turns } = batch;
  const rows = toEventRows(events, spans);
  const keys = [...(batch.delivered ?? [])];
  const exact = exactAfter(batch.v, hasNewerEvents);
  const nextVersion = (stored: RawBuilder<unknown>) => sql`case
    when coalesce(${stored}, 0) between ${exact.min}::integer and ${exact.max}::integer
    then ${batch.v}::integer else ${-batch.v}::integer end`;
  const checkpoint = batch.checkpoint === undefined ? null : JSON.stringify(batch.checkpoint);
  const result = await sql<Locked>`
    with locked as materialized (
      select tenant_id, id, period, archived_epoch, archived_seq from sessions
      where tenant_id = ${ref.tenant} and id = ${ref.session} for no key update
    ), held as materialized (
      select locked.*, q.epoch, q.executor from locked
      join turn_queue q on q.tenant_id = locked.tenant_id and q.session_id = locked.id for no key update of q
    ), allowed as materialized (
      select tenant_id, id, period from held
      where archived_epoch = ${from.epoch}::bigint and archived_seq = ${from.seq}::bigint
        and ${events.length > 0}::boolean and epoch <= ${batch.epoch}::bigint
        ${entries === null ? sql`` : sql`and ${isCurrent(ref, entries)}`}
    ), added_events as (
      insert into archived_events (tenant_id, session_id, period, last_seq, events)
      select tenant_id, id, period, e.* from allowed, unnest(
        ${rows.map(({ last }) => last)}::bigint[],
        ${rows.map(({ json }) => json)}::json[]
      ) e
    ), put_turns as (
      insert into turns (tenant_id, session_id, period, id, start_seq, end_seq, status, open, message, snapshot, v)
      select allowed.tenant_id, allowed.id, allowed.period, t.*, ${nextFoldVersion(null, batch.v, hasNewerEvents)}::integer from allowed, unnest(
        ${turns.map((turn) => turn.id)}::text[],
        ${turns.map((turn) => turn.start)}::bigint[],
        ${turns.map((turn) => turn.end)}::bigint[],
        ${turns.map((turn) => turn.status)}::text[],
        ${turns.map((turn) => turn.open)}::boolean[],
        ${turns.map(({ message }) => message && JSON.stringify(message))}::json[],
        ${turns.map(({ snapshot }) => snapshot && JSON.stringify(snapshot))}::json[]
      ) t
      on conflict (tenant_id, session_id, period, id) do update set
        end_seq = excluded.end_seq, status = excluded.status, open = excluded.open, message = excluded.message,
        snapshot = excluded.snapshot, v = ${nextVersion(sql.ref("turns.v"))}
    ), settled as (
      update outbox set archived_at = clock_timestamp(), delivered_at = coalesce(delivered_at, clock_timestamp())
      from allowed where outbox.tenant_id = allowed.tenant_id and session_id = allowed.id
        and key = any(${keys}::text[]) and archived_at is null
    ), reopened as (
      update outbox set delivered_at = null, cursor_epoch = null, cursor_seq = null, next_attempt_at = clock_timestamp()
      from allowed where outbox.tenant_id = allowed.tenant_id and session_id = allowed.id
        and key <> all(${keys}::text[]) and delivered_at is not null and archived_at is null
        and (cursor_epoch, cursor_seq) <= (${to.epoch}::bigint, ${to.seq}::bigint)
    ), moved as (
      update sessions set
        archived_epoch = ${to.epoch}::bigint, archived_seq = ${to.seq}::bigint,
        header = ${JSON.stringify(batch.header)}::json, v = ${nextVersion(sql.ref("sessions.v"))},
        turn_count = turn_count + ${turns.filter(({ start }) => start > from.seq).length}::integer,
        updated_at = case when ${turning}::boolean then clock_timestamp() else updated_at end,
        checkpoint = coalesce(${checkpoint}::json, checkpoint)
      from allowed where sessions.tenant_id = allowed.tenant_id and sessions.id = allowed.id
    ), issued as (
      -- An epoch that the log has reached was issued, whatever this database has stored.
      update turn_queue set epoch = ${batch.epoch}::bigint from allowed
      where turn_queue.tenant_id = allowed.tenant_id and session_id = allowed.id and epoch < ${batch.epoch}::bigint
    ) ${entries === null ? sql`` : journaled(entries, sql`select tenant_id, id, period from allowed`)}
    select epoch, archived_epoch, archived_seq, exists (select from allowed) as is_written from held`.execute(
    db,
  );
  return result.rows[0];
}
