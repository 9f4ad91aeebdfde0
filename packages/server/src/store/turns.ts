/**
 * `Turns` is the part of the store for archived turns, and `postgresTurns` its implementation.
 *
 * Invariant: each read is one statement, so turns and their events are from the same moment, and it reads no events of
 * other turns.
 */
import type { TurnStatus } from "@turnstream/protocol";
import type { SessionRef } from "../util/refs.ts";
import { postgresArchive, foldRows, turnEvents } from "./archive-sql.ts";
import type { TurnRecord, FoldedRow } from "./archive.ts";
import type { Db } from "./database/database.ts";
import { ofSession, periodOf } from "./database/session-row.ts";
import { checkLimit, MAX_PAGE, checkCount } from "./rules/arguments.ts";
import { upgradeTurns } from "./upgrade-turns.ts";

/** The part of the store that reads archived turns. */
export interface Turns {
  /** Returns null if no such turn is archived. */
  get(ref: SessionRef, id: string): Promise<TurnRecord | null>;
  /** Returns turns, newest first. `before` is the `start` of the last turn of the previous page. */
  list(ref: SessionRef, page: { readonly limit: number; readonly before?: number }): Promise<TurnRecord[]>;
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
    turnEvents(periodOf(ref)).as("events"),
  ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof turnsOf>["execute"]>>[number];

function recordOf({ row, turn }: FoldedRow<Row>): TurnRecord {
  const { id, start, end, status, open } = row;
  return { id, start, end, status: status as TurnStatus, open, ...turn };
}
