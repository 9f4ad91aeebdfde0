/**
 * `CoreTables` declares tables for Kysely, with `schema-ledger.ts` and `schema-runtime.ts`: those that its queries name.
 *
 * Invariant: the types match the tables after all migrations; the compiler can't check this. JSON is written as text
 * (`JSON.stringify`) and read parsed. Times are read as milliseconds; see `open-database.ts`.
 */
import type {
  SessionState,
  UserMessage,
  Snapshot,
  TurnSnapshot,
  Json,
  SessionEvent,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { ColumnType, Generated, GeneratedAlways, RawBuilder } from "kysely";
import type { ByUseScope, UsageLimits, LimitSource } from "../rules/limits.ts";
import type { WebhookEventType, DeliveryState } from "../webhooks.ts";

/** What an agent accepts in a message: text, files whose text it reads, and images that its model sees. */
export const AGENT_INPUTS = ["text", "file", "image"] as const;

export type AgentInput = (typeof AGENT_INPUTS)[number];

/** A folded session without its turns. */
export type SessionHeader = Omit<SessionState, "turns">;

/** The stored fields of a message, except id, sender and time. */
export type QueuedMessageBody = Omit<UserMessage, "id" | "by" | "at">;

/** Written as JSON text, read parsed. */
export type JsonColumn<T> = ColumnType<T, string, string>;

/** Set by the database's clock by default; read as milliseconds. */
export type Time = ColumnType<number, Date | undefined, Date>;

export type NullableTime = ColumnType<number | null, Date | null | undefined, Date | null>;

export type UsageLimitsColumn = ColumnType<ByUseScope<UsageLimits> | null, string | null, null>;

type When = ColumnType<number, Date | RawBuilder<Date>, Date | RawBuilder<Date>>;

/** The columns of every row of a session. */
export interface OfSession {
  tenant_id: string;
  session_id: string;
}

export interface CoreTables {
  tenants: { id: string; name: string; created_at: Time };
  sessions: {
    id: string;
    tenant_id: string;
    user_id: string;
    number: number;
    title: string | null;
    archived_epoch: Generated<number>;
    archived_seq: Generated<number>;
    /** The header at the archived position. */
    header: ColumnType<SessionHeader | null, string | null | undefined, string | null>;
    /** The schema version with which the header was folded. */
    v: number | null;
    /** The state right before the newest archived turn started. */
    checkpoint: ColumnType<Snapshot | null, string | null | undefined, string | null>;
    /** The number of the session's rows in `turns`, so that no query has to count them. */
    turn_count: Generated<number>;
    forked_from_share: Generated<boolean>;
    forked_turns: Generated<number>;
    /** The seq after which history was lost. */
    lost_after: Generated<number | null>;
    created_at: Time;
    updated_at: Time;
    /** The partition of its archived events, turns and journal. */
    period: Generated<number>;
  };
  turns: OfSession & {
    period: number;
    id: string;
    start_seq: number;
    end_seq: number | null;
    status: string;
    open: boolean;
    message: JsonColumn<UserMessage | null>;
    /** Null if the events of the turn have all of it. */
    snapshot: JsonColumn<TurnSnapshot | null>;
    /** The fold version of the snapshot. */
    v: number;
  };
  waiting_messages: OfSession & {
    id: string;
    n: GeneratedAlways<number>;
    /** Null if the message is no longer queued. */
    body: ColumnType<QueuedMessageBody | null, string, string | null>;
    /** Null if no user is named, or the message is no longer queued. */
    by_user: string | null;
    added_at: Time;
    /** Null for none, or if the message is no longer queued. */
    options: ColumnType<Json, string | null, string | null>;
    owner: string;
    key_id: string | null;
    usage_limits: UsageLimitsColumn;
    agent: string | null;
  };
  archived_events: OfSession & {
    period: number;
    /** The seq of the last of the events. */
    last_seq: number;
    /** Ascending. */
    events: JsonColumn<readonly SessionEvent[]>;
  };
  outbox: OfSession & {
    id: GeneratedAlways<number>;
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
  blobs: OfSession & {
    id: string;
    media_type: string;
    name: string | null;
    size: number;
    /** Null if the bytes are in the object storage. */
    body: ColumnType<Buffer | null, Uint8Array | null, never>;
    object_key: string | null;
    digest: string | null;
    created_at: Time;
  };
  leases: {
    executor: string;
    until: Time;
    taken_by: string | null;
    log_reached_at: NullableTime;
    renewed_at: Time;
    /** Whether the executor had its lock at the last renewal; see `LeaseLock`. */
    has_lock: Generated<boolean>;
  };
  shares: OfSession & {
    id: string;
    up_to_epoch: number;
    up_to_seq: number;
    created_at: Time;
    revoked_at: NullableTime;
    expires_at: NullableTime;
    /** The owner of the session. */
    owner: string;
    /** The key of its link. The owner can list the link again, so a hash is not enough. */
    key: string;
  };
  /** The last session number of each tenant. */
  session_counters: { tenant_id: string; last: number };
  /** Erased sessions whose log may still exist. Without a foreign key, because the session's row is deleted. */
  erasures: OfSession & {
    requested_at: Time;
    /** Until when one worker finishes it. */
    claimed_until: NullableTime;
    is_log_removed: Generated<boolean>;
  };
  memories: {
    tenant_id: string;
    user_id: string;
    id: string;
    text: string;
    pinned: boolean;
    created_at: Time;
    updated_at: Time;
  };
  features: {
    name: string;
    /** The statements that delete its tables. */
    remove: string[];
    /** Such as `orders_changes.by_user`. */
    user_columns: string[];
    installed_at: Time;
  };
  attachments: OfSession & {
    id: string;
    n: GeneratedAlways<number>;
    turn: string;
    name: string;
    url: string;
    media_type: string;
    size: number;
    chars: number;
    pieces: number;
    is_cut: boolean;
    added_at: Time;
  };
  attachment_pieces: OfSession & {
    attachment_id: string;
    n: number;
    at: number;
    line: number;
    text: string;
  };
  uploads: OfSession & {
    id: string;
    name: string;
    media_type: string;
    by_user: string | null;
    attempt: Generated<number>;
    size: Generated<number>;
    chunks: Generated<number>;
    complete: Generated<boolean>;
    created_at: Time;
    owner: string;
    key_id: string | null;
    object_key: string | null;
    digest: string | null;
  };
  upload_chunks: OfSession & {
    upload_id: string;
    n: number;
    bytes: ColumnType<Buffer, Uint8Array, never>;
  };
  stored_objects: OfSession & {
    key: string;
    due_at: NullableTime;
    used: Generated<boolean>;
    deleting: Generated<boolean>;
    writable_until: ColumnType<number, Date, Date>;
  };
  form_drafts: OfSession & {
    interaction_id: string;
    body: JsonColumn<Json>;
    version: number;
    saved_at: ColumnType<number, Date | number, Date | number>;
  };
  redeemed_tickets: { tenant_id: string; id: string; expires_at: When };
  idempotency_keys: {
    tenant_id: string;
    user_id: string;
    route: string;
    key: string;
    digest: string;
    made_id: string;
    claim: string | null;
    claimed_until: When;
    status: number | null;
    body: JsonColumn<Json> | null;
    session_id: string | null;
    begun_at: Time;
  };
  interaction_schemas: OfSession & {
    interaction_id: string;
    schema: JsonColumn<Json>;
  };
  allowances: OfSession & {
    n: GeneratedAlways<number>;
    agent: string;
    tool: string;
    by_user: string | null;
    given_at: Time;
    digest: string;
  };
  webhook_endpoints: {
    id: string;
    n: GeneratedAlways<number>;
    tenant_id: string;
    url: string;
    /** The worker signs with it, so it can't be stored as a hash. */
    secret: string;
    events: WebhookEventType[] | null;
    created_at: Time;
  };
  webhook_deliveries: OfSession & {
    endpoint_id: string;
    id: string;
    n: GeneratedAlways<number>;
    type: WebhookEventType;
    data: JsonColumn<Readonly<Record<string, Json>>>;
    state: Generated<DeliveryState>;
    attempts: Generated<number>;
    status: number | null;
    error: string | null;
    /** Set while a process sends the delivery. Its lease ends at `next_attempt_at`. */
    claim: string | null;
    created_at: Time;
    next_attempt_at: Time;
    ended_at: NullableTime;
  };
  caller_limits: {
    tenant_id: string;
    scope: "tenant" | "user";
    /** Empty for each user of the tenant, or for the tenant itself. */
    user_id: string;
    source: LimitSource;
    name: string;
    value: number | null;
    changed_at: Time;
  };
  agents: {
    name: string;
    label: string;
    description: string;
    inputs: AgentInput[];
    registered_at: Time;
  };
}
