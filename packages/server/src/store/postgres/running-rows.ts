/**
 * `runningTurns` reads the rows of running turns, with what `turn_queue` has of them, and `turnOf` makes a `RunningTurn` of
 * a row.
 */
import { sql } from "kysely";
import type { UserMessage } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import type { RunningTurn } from "../ports/running.ts";
import type { Db } from "./database.ts";

/** What an attempt changes in a row of `running_turns`. A journal entry of the turn sets `fruitless` to 0. */
export const countedAttempt = sql`attempts = attempts + 1, fruitless = fruitless + 1`;

export function runningTurns(db: Db) {
  return db
    .selectFrom("running_turns as r")
    .innerJoin("turn_queue as q", (join) =>
      join.onRef("q.tenant_id", "=", "r.tenant_id").onRef("q.session_id", "=", "r.session_id"),
    )
    .select([
      "r.tenant_id",
      "r.session_id",
      "r.turn",
      "r.message_id",
      "r.message",
      "r.message_by",
      "r.message_at",
      "r.retries",
      "r.options",
      "r.begun_at",
      "r.attempts",
      "r.fruitless",
      "r.stop_by",
      "r.stop_at",
      "r.key_id",
      "r.usage_limits",
      "q.deaths",
      "q.owner",
    ]);
}

export function runningTurn(db: Db, ref: SessionRef) {
  return runningTurns(db).where("r.tenant_id", "=", ref.tenant).where("r.session_id", "=", ref.session);
}

export type TurnRow = Awaited<ReturnType<ReturnType<typeof runningTurns>["execute"]>>[number];

export function turnOf(row: TurnRow): RunningTurn {
  return {
    tenant: row.tenant_id,
    session: row.session_id,
    user: row.owner,
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
