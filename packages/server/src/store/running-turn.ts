/**
 * `RunningTurn` is a turn that runs, is queued again or waits for a user. `runningTurns` reads such rows, with what
 * `turn_queue` has of them, and `turnOf` makes a `RunningTurn` of a row.
 */
import type { UserMessage, Json } from "@turnstream/protocol";
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { checkId, checkJson } from "./rules/arguments.ts";
import type { ByUseScope, UsageLimits } from "./rules/limits.ts";

/** The request that started a turn, for its limits. */
export interface TurnCaller {
  /** The id of the API key behind the request; null if there is none. */
  readonly apiKey: string | null;
  /** The limits that each model call of the turn compares. Null for no limits. */
  readonly usageLimits: ByUseScope<UsageLimits> | null;
}

export interface RunningTurn extends SessionRef, TurnCaller {
  readonly turn: string;
  /** The owner of the session. */
  readonly user: string;
  /** The message that the turn answers, or null if it retries an earlier turn. */
  readonly message: UserMessage | null;
  /** The turn that it retries, or null. */
  readonly retries: string | null;
  /** What the message or the retry requests besides its text, such as an agent. Null for nothing. */
  readonly options: Json;
  readonly startedAt: number;
  /** How many attempts were started. */
  readonly attempts: number;
  /**
   * How many of the latest consecutive attempts wrote nothing to the journal. Includes the current one and excludes
   * forgiven ones.
   */
  readonly attemptsWithoutProgress: number;
  /** How many processes have died while they ran this turn. */
  readonly deaths: number;
  /** The first request to stop this turn, or null. */
  readonly stop: { readonly by: string | null; readonly at: number } | null;
}

const MAX_OPTIONS_BYTES = 64_000;

/** @returns the options as JSON, or null for none */
export function checkOptions(options: Json | undefined): string | null {
  return options === undefined || options === null ? null : checkJson(options, "options", MAX_OPTIONS_BYTES);
}

/** What is stored about the request behind a turn. The limits are JSON. */
export interface StoredTurnCaller {
  readonly apiKey: string | null;
  readonly usageLimits: string | null;
}

export function checkTurnCaller({ apiKey = null, usageLimits }: Partial<TurnCaller>): StoredTurnCaller {
  return {
    apiKey: apiKey === null ? null : checkId(apiKey, "apiKey"),
    usageLimits: checkOptions(usageLimits),
  };
}

/** What an attempt changes in a row of `running_turns`. A journal entry of the turn sets `fruitless` to 0. */
export const countedAttempt = sql`attempts = attempts + 1, fruitless = fruitless + 1`;

export function runningTurns(db: Db) {
  return db
    .selectFrom("running_turns as r")
    .innerJoin("turn_queue as q", (join) =>
      join.onRef("q.tenant_id", "=", "r.tenant_id").onRef("q.session_id", "=", "r.session_id"),
    )
    .selectAll("r")
    .select("q.deaths");
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
