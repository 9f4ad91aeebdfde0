/**
 * `postgresArchive` and `postgresTurns` implement the archive and archived turns on PostgreSQL.
 *
 * Invariant: `window` is one statement, so header and turns are from the same moment, and so is each read of turns with
 * their events. A read of turns reads no events of others. `write-archive.ts` writes.
 */
import { sql } from "kysely";
import {
  formatCursor,
  parseCursor,
  type SessionEvent,
  type TurnStatus,
  upgradeEvent,
} from "@turnstream/protocol";
import type { Archive, TurnRecord, Turns } from "../ports/archive.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkBatch } from "../rules/archive.ts";
import { type FoldedRow, foldStoredTurns, type StoredTurn } from "../rules/archived-turn.ts";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import { upgradeTurns, upgradeWindow } from "../upgrade-turns.ts";
import { maintainPeriods, periodOf } from "./archive-periods.ts";
import type { Db } from "./database.ts";
import { ofSession, sessionNotFound } from "./session-row.ts";
import { writeArchive } from "./write-archive.ts";

export function postgresArchive(db: Db): Archive {
  return {
    async header(ref) {
      const row = await headerOf(db, ref).executeTakeFirst();
      if (row === undefined) throw sessionNotFound(ref);
      return { archived: cursorOf(row), header: row.header, v: row.v };
    },
    maintain: (query) => maintainPeriods(db, query),
    async window(ref, turns) {
      const row = await windowQuery(db, ref, turns).executeTakeFirst();
      if (row === undefined) throw sessionNotFound(ref);
      const { header, v, turn_count, turns: shown } = row;
      const folded = (await foldRows(shown)).map(({ turn }) => turn);
      return {
        archived: cursorOf(row),
        header,
        ...upgradeWindow(v, folded),
        earlier: turn_count - shown.length,
      };
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
    write: async (ref, batch) => writeArchive(db, ref, batch, checkBatch(batch)),
    async events(ref, { after, limit }) {
      const most = checkLimit(limit, MAX_BATCH);
      const found: SessionEvent[] = [];
      let last = checkCount(after, "after");
      while (found.length < most) {
        const page = Math.ceil((most - found.length) / EVENTS_PER_ROW);
        const rows = await ofSession(db.selectFrom("archived_events"), ref)
          .select(["last_seq", "events"])
          .where("period", "=", periodOf(ref))
          .where("last_seq", ">", last)
          .orderBy("last_seq")
          .limit(page)
          .execute();
        found.push(
          ...rows
            .flatMap(({ events }) => events.filter(({ id }) => (parseCursor(id)?.seq ?? 0) > after))
            .map(upgradeEvent),
        );
        last = rows.at(-1)?.last_seq ?? last;
        if (rows.length < page) break;
      }
      return found.slice(0, most);
    },
  };
}

/** About how many events a row has. Only the number of statements depends on it. */
const EVENTS_PER_ROW = 4;

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

/** The events of the turn in `turns`, by row; null if its snapshot has all of it. */
function turnEvents(ref: SessionRef) {
  const period = periodOf(ref);
  return sql<SessionEvent[][] | null>`case when turns.snapshot is null then (
    select json_agg(e.events order by e.last_seq) from archived_events e
    where e.tenant_id = turns.tenant_id and e.session_id = turns.session_id and e.period = ${period}
      and e.last_seq between turns.start_seq and coalesce((
        select min(last_seq) from archived_events f
        where f.tenant_id = turns.tenant_id and f.session_id = turns.session_id and f.period = ${period}
          and f.last_seq >= turns.end_seq
      ), 1e15::bigint)
  ) end`;
}

interface TurnWithEvents extends StoredTurn {
  readonly events: SessionEvent[][] | null;
}

function foldRows<Stored extends TurnWithEvents>(rows: readonly Stored[]) {
  return foldStoredTurns(rows.map((row) => ({ row, events: (row.events ?? []).flat() })));
}

/**
 * One statement, so that header and turns are from the same moment. It passes the session id again instead of taking it
 * from the row: otherwise the planner can't estimate the number of turns.
 */
function windowQuery(db: Db, ref: SessionRef, turns: number) {
  const limit = turns === 0 ? 0 : checkLimit(turns, MAX_PAGE);
  const of = sql`tenant_id = ${ref.tenant} and session_id = ${ref.session} and period = ${periodOf(ref)}`;
  const row = sql`start_seq, json_build_object('start', start_seq, 'end', end_seq, 'message', message,
    'snapshot', snapshot, 'v', v, 'events', ${turnEvents(ref)}) as turn`;
  return headerOf(db, ref).select(
    sql<TurnWithEvents[]>`coalesce((
      with newest as (
        select ${row} from turns
        where ${of} order by start_seq desc limit ${limit}
      )
      select json_agg(turn order by start_seq) from (
        select start_seq, turn from newest
        union all
        select ${row} from turns
        where ${of} and open
          and start_seq < coalesce((select min(start_seq) from newest), 1e15::bigint)
      ) shown
    ), '[]'::json)`.as("turns"),
  );
}

export function postgresTurns(db: Db): Turns {
  const upgrade = async (ref: SessionRef, rows: readonly Row[]) =>
    upgradeTurns(postgresArchive(db), ref, (await foldRows(rows)).map(recordOf));
  return {
    async get(ref, id) {
      const rows = await turnsOf(db, ref).where("id", "=", id).execute();
      return (await upgrade(ref, rows))[0] ?? null;
    },
    async list(ref, { limit, before }) {
      let query = turnsOf(db, ref).orderBy("start_seq", "desc").limit(checkLimit(limit, MAX_PAGE));
      if (before !== undefined) query = query.where("start_seq", "<", checkCount(before, "before"));
      return upgrade(ref, await query.execute());
    },
    async open(ref) {
      const open = turnsOf(db, ref).where("open", "=", true);
      return upgrade(ref, await open.orderBy("start_seq").limit(MAX_BATCH).execute());
    },
  };
}

function turnsOf(db: Db, ref: SessionRef) {
  const turns = ofSession(db.selectFrom("turns"), ref).where("period", "=", periodOf(ref));
  return turns.select([
    "id",
    "start_seq as start",
    "end_seq as end",
    "status",
    "open",
    "message",
    "snapshot",
    "v",
    turnEvents(ref).as("events"),
  ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof turnsOf>["execute"]>>[number];

function recordOf({ row, turn }: FoldedRow<Row>): TurnRecord {
  const { id, start, end, status, open } = row;
  return { id, start, end, status: status as TurnStatus, open, ...turn };
}
