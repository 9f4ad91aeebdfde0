/**
 * Writes the events and turns of an archive batch, each in one statement however many there are. Columns go as
 * arrays: as parameters of their own, a large batch would exceed what a statement may have.
 * Never checks the batch nor moves the archived position.
 */
import { sql } from "kysely";
import type { ArchiveBatch, ArchivedTurn } from "../ports/archive.ts";
import type { CheckedBatch } from "../rules/archive.ts";
import type { Ref } from "../refs.ts";
import type { Db } from "./database.ts";

export async function insertEvents(
  tx: Db,
  ref: Ref,
  { events }: ArchiveBatch,
  { spans }: CheckedBatch,
): Promise<void> {
  await sql`
    insert into archived_events (session_id, first_seq, last_seq, epoch, turn_id, type, at, event)
    select ${ref.session}, * from unnest(
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
export async function upsertTurns(tx: Db, ref: Ref, turns: readonly ArchivedTurn[]): Promise<number> {
  if (turns.length === 0) return 0;
  const snapshots = turns.map((turn) => turn.snapshot);
  const { rows } = await sql<{ added: boolean }>`
    insert into turns (session_id, id, start_seq, end_seq, status, open, snapshot)
    select ${ref.session}, * from unnest(
      ${snapshots.map((turn) => turn.id)}::text[],
      ${snapshots.map((turn) => turn.start)}::bigint[],
      ${snapshots.map((turn) => turn.end)}::bigint[],
      ${snapshots.map((turn) => turn.status)}::text[],
      ${turns.map((turn) => turn.open)}::boolean[],
      ${snapshots.map((turn) => JSON.stringify(turn))}::json[]
    )
    on conflict (session_id, id) do update set
      end_seq = excluded.end_seq, status = excluded.status, open = excluded.open, snapshot = excluded.snapshot
    returning (xmax = 0) as added`.execute(tx);
  return rows.filter((row) => row.added).length;
}
