/**
 * The tables of migration 0001 as Kysely sees them. Types only.
 * JSON is written as text (`JSON.stringify`) and read parsed; times are milliseconds, see open.ts.
 */
import type { Event, EventDraft, Json, Snapshot, TurnSnapshot } from "@turnstream/protocol";
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type { SessionHeader } from "../ports/archive.ts";
import type { WaitingBody } from "../ports/waiting.ts";

/** Written as JSON text, read parsed. */
export type JsonColumn<T> = ColumnType<T, string, string>;
/** Set by the database's clock unless given; read as milliseconds. */
export type Time = ColumnType<number, Date | undefined, Date>;
export type NullableTime = ColumnType<number | null, Date | null | undefined, Date | null>;

export interface CoreTables {
  tenants: { id: string; name: string; created_at: Time };
  sessions: {
    id: string;
    tenant_id: string;
    user_id: string;
    number: GeneratedAlways<number>;
    title: string | null;
    /** The highest epoch ever given out. */
    epoch: number;
    archived_epoch: Generated<number>;
    archived_seq: Generated<number>;
    /** The header as of the archived position, and the schema version it was folded with. */
    header: ColumnType<SessionHeader | null, string | null | undefined, string | null>;
    v: number | null;
    /** The state right before the newest archived turn began. */
    checkpoint: ColumnType<Snapshot | null, string | null | undefined, string | null>;
    /** How many rows of `turns` it has, so that nobody has to count them. */
    turn_count: Generated<number>;
    forked_from_share: Generated<boolean>;
    created_at: Time;
    updated_at: Time;
  };
  session_epochs: { session_id: string; epoch: number; by: string; reason: string; at: Time };
  turns: {
    session_id: string;
    id: string;
    start_seq: number;
    end_seq: number | null;
    status: string;
    open: boolean;
    snapshot: JsonColumn<TurnSnapshot>;
  };
  waiting_messages: {
    session_id: string;
    id: string;
    n: GeneratedAlways<number>;
    /** Null once it waits no longer. */
    body: ColumnType<WaitingBody | null, string, string | null>;
    /** Null when nobody is named, or it waits no longer. */
    by_user: string | null;
    added_at: Time;
    /** Added by migration 0003. Null for none, or it waits no longer. */
    options: ColumnType<Json, string | null, string | null>;
  };
  archived_events: {
    session_id: string;
    first_seq: number;
    last_seq: number;
    epoch: number;
    turn_id: string | null;
    type: string;
    at: number;
    event: JsonColumn<Event>;
  };
  outbox: {
    id: GeneratedAlways<number>;
    session_id: string;
    key: string;
    draft: JsonColumn<EventDraft>;
    since_epoch: number;
    since_seq: number;
    created_at: Time;
    attempts: Generated<number>;
    next_attempt_at: Time;
    delivered_at: NullableTime;
    cursor_epoch: number | null;
    cursor_seq: number | null;
    archived_at: NullableTime;
  };
  blobs: {
    session_id: string;
    id: string;
    media_type: string;
    name: string | null;
    size: number;
    body: ColumnType<Buffer, Uint8Array, never>;
    created_at: Time;
  };
  leases: { executor: string; until: Time; taken_by: string | null };
  shares: {
    id: string;
    session_id: string;
    up_to_epoch: number;
    up_to_seq: number;
    created_at: Time;
    revoked_at: NullableTime;
  };
  /** Sessions whose rows are gone and whose log may not be yet. No foreign key: that is the point. */
  erasures: { session_id: string; requested_at: Time };
}
