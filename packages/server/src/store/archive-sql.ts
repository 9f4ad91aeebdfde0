/**
 * `postgresArchive` reads the archive. `write-archive.ts` writes it.
 *
 * Invariant: `window` is one statement, so header and turns are from the same moment, and it reads no events of other
 * turns.
 */
import { type SessionEvent, parseCursor, upgradeEvent, formatCursor } from "@turnstream/protocol";
import { type RawBuilder, sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import { maintainPeriods } from "./archive-periods.ts";
import { type Archive, checkBatch, type StoredTurn, foldStoredTurns } from "./archive.ts";
import type { Db } from "./database/database.ts";
import { sessionNotFound, sessionRow, ofSession, periodOf } from "./database/session-row.ts";
import { checkLimit, MAX_BATCH, checkCount, MAX_PAGE } from "./rules/arguments.ts";
import { upgradeWindow } from "./upgrade-turns.ts";
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
      const row = await sessionRow(db, ref).select("checkpoint").executeTakeFirst();
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
  return sessionRow(db, ref).select(["archived_epoch", "archived_seq", "header", "v", "turn_count"]);
}

/** The events of the turn in `turns`, by row; null if its snapshot has all of it. */
export function turnEvents(period: RawBuilder<number>) {
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

export function foldRows<Stored extends TurnWithEvents>(rows: readonly Stored[]) {
  return foldStoredTurns(rows.map((row) => ({ row, events: (row.events ?? []).flat() })));
}

/**
 * One statement, so that header and turns are from the same moment. It passes the session id again instead of taking it
 * from the row: otherwise the planner can't estimate the number of turns.
 */
function windowQuery(db: Db, ref: SessionRef, turns: number) {
  const limit = turns === 0 ? 0 : checkLimit(turns, MAX_PAGE);
  // The planner replaces `p` by its value, so it looks the period up once, and reads one partition.
  const of = sql`tenant_id = ${ref.tenant} and session_id = ${ref.session} and period = p`;
  const row = sql`start_seq, json_build_object('start', start_seq, 'end', end_seq, 'message', message,
    'snapshot', snapshot, 'v', v, 'events', ${turnEvents(sql`p`)}) as turn`;
  return headerOf(db, ref).select(
    sql<TurnWithEvents[]>`coalesce((
      select (
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
      ) from ${periodOf(ref)} as p
    ), '[]'::json)`.as("turns"),
  );
}
