/**
 * `postgresArchive` and `postgresTurns` implement the archive and archived turns on PostgreSQL.
 *
 * Invariant: `window` is one statement, so header and turns are from the same moment. `write-archive.ts` writes.
 */
import { sql } from "kysely";
import { formatCursor, type TurnSnapshot, type TurnStatus } from "@turnstream/protocol";
import type { Archive, TurnRecord, Turns } from "../ports/archive.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkBatch } from "../rules/archive.ts";
import { checkCount, checkLimit } from "../rules/arguments.ts";
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
    write: async (ref, batch) => writeArchive(db, ref, batch, checkBatch(batch)),
    async events(ref, { after, limit }) {
      const period = await periodOf(db, ref);
      if (period === null) return [];
      const rows = await ofSession(db.selectFrom("archived_events"), ref)
        .select("event")
        .where("period", "=", period)
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
