/**
 * `RuntimeTables` declares the tables of running turns for Kysely.
 *
 * Invariant: see `schema.ts`.
 */
import type { Json } from "@turnstream/protocol";
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type {
  NullableTime,
  OfSession,
  QueuedMessageBody,
  Time,
  UsageLimitsColumn,
  JsonColumn,
} from "./schema.ts";

/** SQL null for no options; JSON also has a null. */
type OptionsColumn = ColumnType<Json, string | null, string | null>;

export interface RuntimeTables {
  /** One row per session, and all that decides which process runs its turn. */
  turn_queue: OfSession & {
    /** The owner of the session, for the order of the queue. */
    owner: string;
    /** The highest epoch ever issued. */
    epoch: number;
    /** The turn that runs, waits for a user, or is queued again. Null if the session has none. */
    turn: string | null;
    /** The number of the message that the next turn answers, while no turn runs. */
    next_message: number | null;
    /** The agent that the queued or running turn names. */
    agent: string | null;
    /** The place in the queue, the lowest first. A turn that runs keeps it; one that waits for a user has none. */
    rank: number | null;
    queued_at: NullableTime;
    /** Not to be started before. */
    due_at: NullableTime;
    /** The process that runs the turn. */
    executor: string | null;
    /** How many processes have died while they ran the turn. */
    deaths: Generated<number>;
  };
  running_turns: OfSession & {
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
    stop_by: string | null;
    /** Null without a stop request. */
    stop_at: NullableTime;
    owner: string;
    key_id: string | null;
    usage_limits: UsageLimitsColumn;
    used_tokens: Generated<number>;
    used_micros: Generated<number>;
    /** From `park` until the next start. */
    parked_at: NullableTime;
    wake_at: NullableTime;
  };
  dead_turns: OfSession & {
    turn: string;
    agent: string | null;
    deaths: number;
    at: Time;
  };
  turn_journal: OfSession & {
    period: number;
    turn: string;
    key: string;
    n: GeneratedAlways<number>;
    value: JsonColumn<Json>;
    kept: boolean;
  };
}
