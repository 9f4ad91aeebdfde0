/**
 * `runningTurns` reads rows of running turns on PostgreSQL, and `turnOf` makes a `RunningTurn` of a row.
 *
 * Invariant: exactly one of these is true for a row: a process runs the turn (`executor`), a job is queued or fetched for
 * it (`job` without `executor`), or it is parked (`parked_at` without both).
 */
import { sql } from "kysely";
import type { UserMessage } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import type { RunningTurn } from "../ports/running.ts";
import { periodOf } from "./archive-periods.ts";
import type { Db } from "./database.ts";

export const COLUMNS = [
  "turn",
  "message_id",
  "message",
  "message_by",
  "message_at",
  "retries",
  "options",
  "begun_at",
  "attempts",
  "fruitless",
  "deaths",
  "stop_by",
  "stop_at",
  "key_id",
  "usage_limits",
] as const;

/** The newest journal entry of the session's row of `running_turns`. */
export function newestEntry(ref: SessionRef) {
  return sql<number>`coalesce((select max(n) from turn_journal j
    where j.tenant_id = running_turns.tenant_id and j.session_id = running_turns.session_id
      and j.period = ${periodOf(ref)} and j.turn = running_turns.turn), 0)`;
}

export function runningTurns(db: Db) {
  return db
    .selectFrom("running_turns")
    .innerJoin("sessions", (join) =>
      join
        .onRef("sessions.tenant_id", "=", "running_turns.tenant_id")
        .onRef("sessions.id", "=", "running_turns.session_id"),
    )
    .select([...COLUMNS, "sessions.id", "sessions.tenant_id", "sessions.user_id"]);
}

export function runningTurn(db: Db, ref: SessionRef) {
  return runningTurns(db)
    .where("running_turns.tenant_id", "=", ref.tenant)
    .where("running_turns.session_id", "=", ref.session);
}

export type TurnRow = Awaited<ReturnType<ReturnType<typeof runningTurns>["execute"]>>[number];

export function turnOf(row: TurnRow): RunningTurn {
  return {
    tenant: row.tenant_id,
    session: row.id,
    user: row.user_id,
    turn: row.turn,
    message: messageOf(row),
    retries: row.retries,
    options: row.options,
    startedAt: row.begun_at,
    attempts: row.attempts,
    attemptsWithoutProgress: row.fruitless,
    deaths: row.deaths,
    stop: row.stop_at === null ? null : { by: row.stop_by, at: row.stop_at },
    apiKey: row.key_id,
    usageLimits: row.usage_limits,
  };
}

function messageOf({ message_id: id, message, message_by: by, message_at: at }: TurnRow): UserMessage | null {
  return id === null || message === null || at === null ? null : { id, ...message, by, at };
}
