/** The tables of migrations 0003 and 0013 as Kysely sees them. Types only. */
import type { Json } from "@turnstream/protocol";
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type { WaitingBody } from "../ports/waiting.ts";
import type { JsonColumn, NullableTime, Time } from "./schema.ts";

/** Null for nothing, which JSON has a word for too. */
type OptionsColumn = ColumnType<Json, string | null, string | null>;

export interface RuntimeTables {
  running_turns: {
    session_id: string;
    turn: string;
    /** These are null together, when it tries an earlier turn again. */
    message_id: string | null;
    message: ColumnType<WaitingBody | null, string | null, string | null>;
    message_at: NullableTime;
    /** Null also when nobody is named. */
    message_by: string | null;
    retries: string | null;
    options: OptionsColumn;
    begun_at: Time;
    attempts: Generated<number>;
    fruitless: Generated<number>;
    /** The newest entry of its journal when it was last attempted. */
    journaled: Generated<number>;
    stop_by: string | null;
    /** Null while nobody wants it stopped. */
    stop_at: NullableTime;
  };
  turn_journal: {
    session_id: string;
    turn: string;
    key: string;
    n: GeneratedAlways<number>;
    value: JsonColumn<Json>;
    kept: boolean;
  };
}
