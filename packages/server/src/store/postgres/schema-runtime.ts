/**
 * `RuntimeTables` declares the tables of running turns for Kysely. Types only.
 *
 * Invariant: see `schema.ts`.
 */
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type { Json } from "@turnstream/protocol";
import type { QueuedMessageBody } from "../ports/running.ts";
import type { JsonColumn, NullableTime, Time, UsageLimitsColumn } from "./schema.ts";

/** SQL null for no options; JSON also has a null. */
type OptionsColumn = ColumnType<Json, string | null, string | null>;

export interface RuntimeTables {
  running_turns: {
    tenant_id: string;
    session_id: string;
    turn: string;
    /** This, `message` and `message_at` are null if the turn retries an earlier one. */
    message_id: string | null;
    message: ColumnType<QueuedMessageBody | null, string | null, string | null>;
    message_at: NullableTime;
    /** Also null if no user is named. */
    message_by: string | null;
    retries: string | null;
    options: OptionsColumn;
    begun_at: Time;
    attempts: Generated<number>;
    fruitless: Generated<number>;
    /** The newest entry of its journal at its last attempt. */
    journaled: Generated<number>;
    stop_by: string | null;
    /** Null without a stop request. */
    stop_at: NullableTime;
    owner: string;
    key_id: string | null;
    usage_limits: UsageLimitsColumn;
    used_tokens: Generated<number>;
    used_micros: Generated<number>;
    agent: string | null;
    /** The agent of the job's queue; null for the queue of all workers. */
    queue_agent: string | null;
    /** The job that is queued for the turn, or that its process has fetched. Null while it is parked. */
    job: string | null;
    rank: number | null;
    /** The process that runs the turn. */
    executor: string | null;
    deaths: Generated<number>;
    /** True if its process must run no other turn. */
    alone: Generated<boolean>;
    /** See `suspicionOf`. */
    suspicion: Generated<number>;
    /** From `park` until the next start. */
    parked_at: NullableTime;
    wake_at: NullableTime;
  };
  dead_turns: {
    tenant_id: string;
    session_id: string;
    turn: string;
    agent: string | null;
    deaths: number;
    at: Time;
  };
  job_maintenance: { at: Time };
  turn_journal: {
    tenant_id: string;
    session_id: string;
    period: number;
    turn: string;
    key: string;
    n: GeneratedAlways<number>;
    value: JsonColumn<Json>;
    kept: boolean;
  };
}
