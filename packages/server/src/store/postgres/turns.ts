/** Archived turns on PostgreSQL, read only. */
import type { TurnStatus } from "@turnstream/protocol";
import { checkCount, checkLimit } from "../rules/arguments.ts";
import type { Ref } from "../refs.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import type { TurnRecord, Turns } from "../ports/turns.ts";
import type { Db } from "./database.ts";
import { isTenants } from "./session-row.ts";

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

function turnsOf(db: Db, ref: Ref) {
  return db
    .selectFrom("turns")
    .select(["id", "start_seq", "end_seq", "status", "open", "snapshot"])
    .where("session_id", "=", ref.session)
    .where(isTenants(ref));
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
