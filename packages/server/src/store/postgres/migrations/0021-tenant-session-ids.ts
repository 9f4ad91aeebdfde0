/**
 * `tenantSessionIds` is migration 0021: ids and numbers of sessions are unique in their tenant, and no longer over all
 * tenants.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - Every key of a session, and every key of a row of a session, starts with `tenant_id`.
 * - Every table of a session references it by (tenant_id, session_id) with ON DELETE CASCADE.
 * - It locks the tables exclusively, so no other process can use the database meanwhile. Processes of the previous
 *   version can't write afterwards.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** The tables of a session that have no tenant yet. */
const WITHOUT_TENANT = [
  "session_epochs",
  "turns",
  "waiting_messages",
  "archived_events",
  "outbox",
  "blobs",
  "running_turns",
  "turn_journal",
  "interaction_changes",
  "interaction_schemas",
  "form_drafts",
  "payment_changes",
  "attachments",
  "attachment_pieces",
  "uploads",
  "upload_chunks",
];

/** The rest of each primary key, after tenant and session. */
const PRIMARY_KEYS = {
  session_epochs: ["epoch"],
  turns: ["id"],
  waiting_messages: ["id"],
  archived_events: ["last_seq"],
  blobs: ["id"],
  running_turns: [],
  turn_journal: ["turn", "key"],
  interactions: ["id"],
  interaction_changes: ["interaction_id", "version"],
  interaction_schemas: ["interaction_id"],
  form_drafts: ["interaction_id"],
  allowances: ["agent", "tool"],
  payments: ["id"],
  payment_changes: ["payment_id", "n"],
  attachments: ["id"],
  attachment_pieces: ["attachment_id", "n"],
  uploads: ["id"],
  upload_chunks: ["upload_id", "n"],
  erasures: [],
} as const;

/** The tables whose rows reference their session itself. */
const OF_SESSION = [
  "session_epochs",
  "turns",
  "waiting_messages",
  "archived_events",
  "outbox",
  "blobs",
  "shares",
  "running_turns",
  "turn_journal",
  "interactions",
  "allowances",
  "payments",
  "attachments",
  "uploads",
  "idempotency_keys",
  "webhook_deliveries",
];

/** The tables whose rows reference another row of their session: the column, and the table. */
const OF_ROW = {
  interaction_changes: ["interaction_id", "interactions"],
  interaction_schemas: ["interaction_id", "interactions"],
  form_drafts: ["interaction_id", "interactions"],
  payments: ["id", "interactions"],
  payment_changes: ["payment_id", "payments"],
  attachment_pieces: ["attachment_id", "attachments"],
  upload_chunks: ["upload_id", "uploads"],
} as const;

const statements = [
  // The names of foreign keys depend on the version of PostgreSQL, so look them up.
  `do $$
  declare fk record;
  begin
    for fk in select conrelid::regclass as child, conname as name from pg_constraint
      where contype = 'f' and confrelid in ('sessions'::regclass, 'interactions'::regclass, 'payments'::regclass,
        'attachments'::regclass, 'uploads'::regclass)
    loop
      execute format('alter table %s drop constraint %I', fk.child, fk.name);
    end loop;
  end $$`,

  // A constant default is stored once and not in every row. So only the rows of the smaller tenants are rewritten.
  `do $$
  declare
    main text := coalesce((select tenant_id from sessions group by tenant_id order by count(*) desc limit 1), '');
    name text;
  begin
    foreach name in array array['${WITHOUT_TENANT.join("', '")}'] loop
      execute format('alter table %I add column tenant_id text not null default %L', name, main);
      execute format('update %I child set tenant_id = s.tenant_id from sessions s
        where s.id = child.session_id and s.tenant_id <> %L', name, main);
      execute format('alter table %I alter column tenant_id drop default', name);
    end loop;
  end $$`,
  `alter table shares rename column owner_tenant to tenant_id`,
  `update shares set tenant_id = s.tenant_id, owner = s.user_id from sessions s
    where s.id = shares.session_id and (shares.tenant_id is null or owner is null)`,
  `alter table shares alter column tenant_id set not null, alter column owner set not null`,
  // Logs have other names from this version on, so these erasures can't be finished.
  `delete from erasures`,
  `alter table erasures add column tenant_id text not null`,

  `create table session_counters (
    tenant_id text primary key references tenants on delete cascade,
    last bigint not null
  ) with (fillfactor = 50)`,
  `insert into session_counters (tenant_id, last) select tenant_id, max(number) from sessions group by tenant_id`,
  `alter table sessions
    alter column number drop identity,
    drop constraint sessions_number_key,
    drop constraint sessions_pkey,
    add primary key (tenant_id, id),
    add unique (tenant_id, number)`,

  ...Object.entries(PRIMARY_KEYS).map(
    ([name, rest]) =>
      `alter table ${name} drop constraint ${name}_pkey,
        add primary key (${["tenant_id", "session_id", ...rest].join(", ")})`,
  ),
  `alter table turns drop constraint turns_session_id_start_seq_key, add unique (tenant_id, session_id, start_seq)`,
  `alter table outbox drop constraint outbox_session_id_key_key, add unique (tenant_id, session_id, key)`,
  `alter table interactions drop constraint interactions_session_id_key_key, add unique (tenant_id, session_id, key)`,

  `drop index turns_open, waiting_in_order, outbox_undelivered_of_session, outbox_unarchived, shares_of_session,
    erasures_by_age, interactions_in_order, interactions_pending, payments_in_order, payment_changes_of_event,
    attachments_newest, idempotency_keys_session, webhook_deliveries_session`,
  `create index turns_open on turns (tenant_id, session_id, start_seq) where open`,
  `create index waiting_in_order on waiting_messages (tenant_id, session_id, n) where body is not null`,
  `create index outbox_undelivered_of_session on outbox (tenant_id, session_id, id) where delivered_at is null`,
  `create index outbox_unarchived on outbox (tenant_id, session_id)
    where delivered_at is not null and archived_at is null`,
  `create index shares_of_session on shares (tenant_id, session_id, created_at, id collate "C")`,
  `create index erasures_by_age on erasures (requested_at, tenant_id collate "C", session_id collate "C")`,
  `create index interactions_in_order on interactions (tenant_id, session_id, n)`,
  `create index interactions_pending on interactions (tenant_id, session_id, n)
    where status in ('pending', 'processing')`,
  `create index payments_in_order on payments (tenant_id, session_id, n)`,
  `create unique index payment_changes_of_event
    on payment_changes (tenant_id, session_id, payment_id, provider, event) where event is not null`,
  `create index attachments_newest on attachments (tenant_id, session_id, n desc)`,
  `create index idempotency_keys_session on idempotency_keys (tenant_id, session_id) where session_id is not null`,
  `create index webhook_deliveries_session on webhook_deliveries (tenant_id, session_id)`,

  ...OF_SESSION.map(
    (name) =>
      `alter table ${name} add foreign key (tenant_id, session_id) references sessions on delete cascade`,
  ),
  ...Object.entries(OF_ROW).map(
    ([name, [column, of]]) =>
      `alter table ${name} add foreign key (tenant_id, session_id, ${column}) references ${of} on delete cascade`,
  ),
];

export const tenantSessionIds: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
