/**
 * `baseline` creates all tables, indexes, functions and triggers in an empty schema.
 *
 * Invariant: until the first release, every change of the tables is made here, and databases of another baseline are
 * refused. After the release its SQL never changes, because databases have run it. It imports nothing of ours except
 * types, so that no other change can alter it.
 * - Every key of a session, and of a row of a session, starts with `tenant_id`: ids are unique in their tenant. Every
 *   table of a session references it with ON DELETE CASCADE, except the three partitioned ones.
 * - Events, drafts, snapshots, messages, and what a user wrote, are `json`, even a single text.
 *   `text` and `jsonb` refuse \u0000, and `jsonb` refuses lone surrogates, which models and tools produce, and reorders
 *   keys. No query searches inside them.
 * - Ids of users have their own columns, so that they can be erased without reading a message.
 * - Pages order ids by collate "C", so that every database sorts them alike. Only the indexes have this collation. A
 *   column with another collation than the one it references would prevent joins and cascades from using an index.
 * - Times have milliseconds, so that a value read by JavaScript can be compared again.
 * - Tables that get rows while sessions are used have `existing_tenant` instead of a foreign key to `tenants`.
 */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { StoreMigration } from "../migration-steps.ts";

/** The first columns of a table of a session. */
const OF_SESSION = `tenant_id text not null,
    session_id text not null`;

/** The usage of a tenant, a user or a key. */
const USAGE_OF_DAY = `day text not null check (day ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'),
    model text collate "C" not null,
    shard smallint not null,
    turns bigint not null,
    calls bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    total_tokens bigint not null,
    cost_micros bigint not null`;

const tenants = [
  `create table tenants (
    id text primary key,
    name text not null,
    created_at timestamptz(3) not null default clock_timestamp()
  )`,
  // Like a foreign key to `tenants`, which would lock the tenant's row: concurrent locks of one row make multixacts.
  // This lock is in memory. Removing a tenant takes it exclusively, so no row is added for a tenant that is being removed.
  // A volatile function reads with a new snapshot after the lock, so it sees a removal that it has waited for.
  `create function existing_tenant(tenant text) returns text language plpgsql volatile as $$
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('tenant/' || tenant, 0));
      if not exists (select from tenants where id = tenant) then
        raise exception 'the tenant does not exist' using errcode = 'foreign_key_violation';
      end if;
      return tenant;
    end $$`,

  `create table api_keys (
    id text primary key,
    tenant_id text not null references tenants on delete cascade,
    name text not null,
    scopes text[] not null,
    secret_hash bytea not null check (octet_length(secret_hash) = 32),
    created_at timestamptz(3) not null default clock_timestamp(),
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
  )`,
  `create index api_keys_of_tenant on api_keys (tenant_id, created_at, id)`,

  // The numbers that stand for users in the audit.
  `create table people (
    number bigint primary key generated always as identity,
    tenant_id text not null,
    user_id text not null,
    unique (tenant_id, user_id)
  )`,
];

const sessions = [
  // The weeks that have partitions, counted from 1970. A session has one period, and all its rows in the partitioned
  // tables are in the partitions of that period, so a key without the period stays unique. A new session gets the newest
  // period that exists, so that a missing partition never refuses events.
  `create table archive_periods (
    period integer primary key,
    -- When no session used it any more.
    emptied_at timestamptz(3)
  )`,
  `create function archive_period(at timestamptz) returns integer language sql stable as
    'select floor(extract(epoch from at) / 604800)::integer'`,
  `create function current_archive_period() returns integer language plpgsql stable as $$
    begin
      return coalesce(
        (select max(period) from archive_periods
          where period <= archive_period(clock_timestamp()) and emptied_at is null),
        (select min(period) from archive_periods));
    end $$`,

  // Archiving updates the row often. Free space on the page keeps these updates out of the indexes.
  `create table sessions (
    tenant_id text not null,
    id text not null,
    user_id text not null,
    number bigint not null,
    title text,
    archived_epoch bigint not null default 0,
    archived_seq bigint not null default 0,
    header json,
    v integer,
    checkpoint json,
    turn_count bigint not null default 0,
    forked_from_share boolean not null default false,
    forked_turns bigint not null default 0,
    lost_after bigint,
    created_at timestamptz(3) not null default clock_timestamp(),
    updated_at timestamptz(3) not null default clock_timestamp(),
    period integer not null default current_archive_period(),
    primary key (tenant_id, id),
    unique (tenant_id, number)
  ) with (fillfactor = 80)`,
  `create index sessions_of_tenant on sessions (tenant_id, updated_at desc, id collate "C" desc)`,
  `create index sessions_of_user on sessions (tenant_id, user_id, updated_at desc, id collate "C" desc)`,
  `create index sessions_by_age on sessions (updated_at, id collate "C")`,
  `create index sessions_of_period on sessions (period)`,
  // It is declared immutable, although a session that is used for long gets a later period. So PostgreSQL calls it while it
  // plans a statement, and plans for one partition, not for all of them. The plan of a statement with parameters is used
  // once, so the period is as new as the statement.
  `create function session_period(tenant text, session text) returns integer language plpgsql immutable as $$
    begin
      return (select period from sessions where tenant_id = tenant and id = session);
    end $$`,

  `create table session_counters (
    tenant_id text primary key,
    last bigint not null
  ) with (fillfactor = 50)`,

  // Two random UUIDs in `key` sign the token of the link.
  `create table shares (
    id text primary key,
    ${OF_SESSION},
    owner text not null,
    key text not null,
    up_to_epoch bigint not null,
    up_to_seq bigint not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    revoked_at timestamptz(3),
    expires_at timestamptz(3),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index shares_of_session on shares (tenant_id, session_id, created_at, id collate "C")`,
  `create index shares_of_owner on shares (tenant_id, owner, created_at, id collate "C") where revoked_at is null`,
  `create index shares_by_end on shares (least(revoked_at, expires_at))
    where least(revoked_at, expires_at) is not null`,

  // It outlives its session.
  `create table erasures (
    ${OF_SESSION},
    requested_at timestamptz(3) not null default clock_timestamp(),
    claimed_until timestamptz(3),
    is_log_removed boolean not null default false,
    primary key (tenant_id, session_id)
  )`,
  `create index erasures_by_age on erasures (requested_at, tenant_id collate "C", session_id collate "C")`,
];

// A foreign key to `sessions` would lock that table while a partition is dropped, so these tables have none. Every
// statement that adds rows holds the lock of the session.
const archive = [
  `create table archived_events (
    ${OF_SESSION},
    period integer not null,
    last_seq bigint not null,
    events json not null,
    primary key (tenant_id, session_id, period, last_seq)
  ) partition by list (period)`,

  // A row has only what the events of the turn don't have. A snapshot that is not null is the whole turn.
  `create table turns (
    ${OF_SESSION},
    period integer not null,
    id text not null,
    start_seq bigint not null,
    end_seq bigint,
    status text not null,
    open boolean not null,
    message json,
    snapshot json,
    v integer not null,
    primary key (tenant_id, session_id, period, id),
    unique (tenant_id, session_id, period, start_seq)
  ) partition by list (period)`,
  `create index turns_open on turns (tenant_id, session_id, start_seq) where open`,

  // A sequence of its own: not every version of PostgreSQL has partitions of a table with an identity.
  `create sequence turn_journal_numbers`,
  `create table turn_journal (
    ${OF_SESSION},
    period integer not null,
    turn text not null,
    key text not null,
    n bigint not null default nextval('turn_journal_numbers'),
    value json not null,
    kept boolean not null,
    primary key (tenant_id, session_id, period, turn, key)
  ) partition by list (period)`,

  // The role of workers and gateways needs no right to create or drop tables: these functions run as their owner. They
  // create only the partitions of this week and the next four, and drop only partitions that no session uses. Attaching a
  // table locks the others less than creating a partition.
  `create function create_archive_periods() returns void language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare
      this integer := archive_period(clock_timestamp());
      parent text;
      name text;
    begin
      if (select count(*) from archive_periods where period between this and this + 4) > 4 then
        return;
      end if;
      perform pg_advisory_xact_lock(hashtextextended('archive_periods', 0));
      for new_period in this .. this + 4 loop
        continue when exists (select from archive_periods where period = new_period);
        foreach parent in array array['archived_events', 'turns', 'turn_journal'] loop
          name := format('%s_%s', parent, new_period);
          execute format('create table %I (like %I including all)', name, parent);
          execute format('alter table %I attach partition %I for values in (%s)', parent, name, new_period);
        end loop;
        insert into archive_periods (period) values (new_period);
      end loop;
    end $$`,
  // One table per call, so that it never waits for a table while it holds another one: statements of others use the tables
  // in any order. Returns false if there is none to drop.
  `create function drop_archive_period(old integer) returns boolean language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare
      parent text;
      name text;
      is_dropped boolean := false;
      is_last boolean := true;
    begin
      perform from archive_periods where period = old and emptied_at is not null for update;
      if not found or old >= current_archive_period() or exists (select from sessions where period = old) then
        return false;
      end if;
      foreach parent in array array['archived_events', 'turns', 'turn_journal'] loop
        name := format('%s_%s', parent, old);
        continue when to_regclass(quote_ident(name)) is null;
        if is_dropped then
          is_last := false;
        else
          execute format('alter table %I detach partition %I', parent, name);
          execute format('drop table %I', name);
          is_dropped := true;
        end if;
      end loop;
      if is_last then
        delete from archive_periods where period = old;
      end if;
      return is_dropped;
    end $$`,
  `select create_archive_periods()`,

  `create table outbox (
    id bigint primary key generated always as identity,
    ${OF_SESSION},
    key text not null,
    draft json not null,
    since_epoch bigint not null,
    since_seq bigint not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    attempts integer not null default 0,
    next_attempt_at timestamptz(3) not null default clock_timestamp(),
    delivered_at timestamptz(3),
    cursor_epoch bigint,
    cursor_seq bigint,
    archived_at timestamptz(3),
    unique (tenant_id, session_id, key),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index outbox_undelivered on outbox (id) where delivered_at is null`,
  `create index outbox_undelivered_of_session on outbox (tenant_id, session_id, id) where delivered_at is null`,
  `create index outbox_due on outbox (next_attempt_at, id) where delivered_at is null`,
  `create index outbox_unarchived on outbox (tenant_id, session_id)
    where delivered_at is not null and archived_at is null`,
  `create index outbox_unarchived_by_age on outbox (delivered_at)
    where delivered_at is not null and archived_at is null`,
  `create index outbox_archived on outbox (archived_at) where archived_at is not null`,
];

const queue = [
  // One row per session: which process runs its turn, or when it is started. The row is written three times per turn, so it
  // is narrow and vacuumed often. `next_message` is the `n` of the message that the next turn answers. A turn that runs
  // keeps its rank; one that waits for a user has none.
  `create table turn_queue (
    ${OF_SESSION},
    owner text not null,
    epoch bigint not null check (epoch >= 0),
    turn text,
    next_message bigint,
    agent text,
    rank bigint,
    queued_at timestamptz(3),
    due_at timestamptz(3),
    executor text,
    deaths integer not null default 0,
    primary key (tenant_id, session_id),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01)`,
  `create index turn_queue_queued on turn_queue (rank) where executor is null and rank is not null`,
  `create index turn_queue_running on turn_queue (rank) where executor is not null`,
  `create index turn_queue_of_executor on turn_queue (executor) where executor is not null`,
  `create index turn_queue_of_owner on turn_queue (tenant_id, owner, rank) where rank is not null`,
  `create index turn_queue_deaths on turn_queue (deaths) where deaths > 0`,
  `create index turn_queue_users on turn_queue (tenant_id, owner) where executor is null and rank is not null`,

  // Tenants take turns, and so do the users of a tenant, at most 50 of them: see `store/turn-queue.ts`. Each part reads one entry of an index, and the
  // users are counted one by one. A connection keeps the plan that it made while the table was small, so that plan must use
  // the indexes too.
  `create function next_rank(tenant text, of_owner text) returns bigint language plpgsql stable
    set enable_seqscan = off as $$
    declare
      started bigint := coalesce((select max(rank) from turn_queue where executor is not null), 0);
      mine bigint := (select max(rank) from turn_queue
        where tenant_id = tenant and owner = of_owner and rank is not null);
      is_queued boolean := exists (select from turn_queue
        where tenant_id = tenant and owner = of_owner and executor is null and rank is not null);
      users integer := 0;
      next_user text := (select min(owner) from turn_queue
        where tenant_id = tenant and executor is null and rank is not null);
    begin
      while next_user is not null and users < 50 loop
        users := users + 1;
        next_user := (select min(owner) from turn_queue
          where tenant_id = tenant and executor is null and rank is not null and owner > next_user);
      end loop;
      return greatest(started + case when is_queued then 0 else users end, mine + greatest(users, 1));
    end $$`,

  // A message that is no longer queued keeps its row without a body, so that a repeat does not queue it again.
  // `owner` is the owner of the session, so that what a user has in use is found without reading all sessions of the user.
  `create table waiting_messages (
    ${OF_SESSION},
    id text not null,
    n bigint not null generated always as identity,
    body json,
    options json,
    by_user text,
    owner text not null,
    key_id text,
    usage_limits json,
    added_at timestamptz(3) not null default clock_timestamp(),
    agent text,
    primary key (tenant_id, session_id, id),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index waiting_in_order on waiting_messages (tenant_id, session_id, n) where body is not null`,
  `create index waiting_by_age on waiting_messages (added_at, n) where body is not null`,
  `create index waiting_of_owner on waiting_messages (tenant_id, owner, session_id) where body is not null`,
  `create index waiting_of_key on waiting_messages (tenant_id, key_id, session_id)
    where body is not null and key_id is not null`,
  `create index waiting_taken on waiting_messages (added_at) where body is null`,
  `create index waiting_by_user on waiting_messages (by_user) where by_user is not null`,

  // What the turn of a session is about. It refers to its row of `turn_queue`, which a process has locked when it starts a
  // turn: it locks no session. Costs are in millionths.
  `create table running_turns (
    ${OF_SESSION},
    turn text not null,
    message_id text,
    message json,
    message_by text,
    message_at timestamptz(3),
    retries text,
    options json,
    owner text not null,
    key_id text,
    usage_limits json,
    used_tokens bigint not null default 0,
    used_micros bigint not null default 0,
    begun_at timestamptz(3) not null default clock_timestamp(),
    attempts integer not null default 0,
    -- Consecutive attempts that wrote nothing to the journal.
    fruitless integer not null default 0,
    stop_by text,
    stop_at timestamptz(3),
    parked_at timestamptz(3),
    wake_at timestamptz(3),
    primary key (tenant_id, session_id),
    foreign key (tenant_id, session_id) references turn_queue on delete cascade
  )`,
  `create index running_of_owner on running_turns (tenant_id, owner, session_id)`,
  `create index running_of_key on running_turns (tenant_id, key_id, session_id) where key_id is not null`,
  `create index running_stopping on running_turns (stop_at) where stop_at is not null`,
  `create index running_wake on running_turns (wake_at) where wake_at is not null`,
  // The unfinished turns, the oldest first: the ones that most likely hang.
  `create index running_by_age on running_turns (begun_at)`,
  `create index running_by_turn on running_turns (turn)`,
  `create index running_message_by on running_turns (message_by) where message_by is not null`,
  `create index running_stop_by on running_turns (stop_by) where stop_by is not null`,

  `create table dead_turns (
    ${OF_SESSION},
    turn text not null,
    agent text,
    deaths integer not null,
    at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, session_id, turn),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index dead_turns_by_time on dead_turns (at)`,

  `create table leases (
    executor text primary key,
    until timestamptz(3) not null,
    taken_by text,
    renewed_at timestamptz(3) not null default clock_timestamp(),
    has_lock boolean not null default false,
    log_reached_at timestamptz(3)
  )`,
  `create index leases_by_end on leases (until)`,

  `create table agents (
    name text primary key,
    label text not null,
    description text not null,
    inputs text[] not null,
    registered_at timestamptz(3) not null default clock_timestamp()
  )`,
];

const interactions = [
  `create table interactions (
    ${OF_SESSION},
    id text not null,
    n bigint not null generated always as identity,
    kind text not null,
    key text not null,
    turn_id text not null,
    run_id text not null,
    block_id text not null,
    item_index bigint not null,
    call_id text,
    request json not null,
    digest text,
    deadline timestamptz(3),
    status text not null default 'pending',
    version bigint not null default 0,
    requested_at timestamptz(3) not null default clock_timestamp(),
    changed_at timestamptz(3),
    primary key (tenant_id, session_id, id),
    unique (tenant_id, session_id, key),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index interactions_in_order on interactions (tenant_id, session_id, n)`,
  `create index interactions_pending on interactions (tenant_id, session_id, n)
    where status in ('pending', 'processing')`,
  // The turn that waits for a decision ends it at its deadline.
  `create index interactions_form_deadline on interactions (deadline, n)
    where kind = 'form' and status = 'pending' and deadline is not null`,

  `create table interaction_changes (
    ${OF_SESSION},
    interaction_id text not null,
    version bigint not null check (version > 0),
    status text not null,
    by_user text,
    reason json,
    body json not null,
    at timestamptz(3) not null,
    primary key (tenant_id, session_id, interaction_id, version),
    foreign key (tenant_id, session_id, interaction_id) references interactions on delete cascade
  )`,
  `create index interaction_changes_by_user on interaction_changes (by_user) where by_user is not null`,

  // Schemas of edited arguments. Separate from the request, which is read far more often than it is edited.
  `create table interaction_schemas (
    ${OF_SESSION},
    interaction_id text not null,
    schema json not null,
    primary key (tenant_id, session_id, interaction_id),
    foreign key (tenant_id, session_id, interaction_id) references interactions on delete cascade
  )`,

  `create table form_drafts (
    ${OF_SESSION},
    interaction_id text not null,
    body json not null,
    version integer not null,
    saved_at timestamptz(3) not null,
    primary key (tenant_id, session_id, interaction_id),
    foreign key (tenant_id, session_id, interaction_id) references interactions on delete cascade
  )`,

  // An allowance holds for one definition of its tool.
  `create table allowances (
    ${OF_SESSION},
    n bigint not null generated always as identity,
    agent text not null,
    tool text not null,
    digest text not null,
    by_user text,
    given_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, session_id, agent, tool),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index allowances_by_user on allowances (by_user) where by_user is not null`,
];

const files = [
  // An object of the object storage has a row until it is deleted. Triggers mark the row when a session or an upload is
  // deleted, whichever statement deletes it, so the row has no foreign key. `due_at` is null while a file uses the object.
  // Otherwise the object is deleted at this time. `used` stays true after the write has ended.
  `create table stored_objects (
    key text collate "C" primary key,
    ${OF_SESSION},
    due_at timestamptz(3),
    used boolean not null default false,
    deleting boolean not null default false,
    writable_until timestamptz(3) not null
  )`,
  `create index stored_objects_due on stored_objects (due_at) where due_at is not null`,
  `create index stored_objects_of_session on stored_objects (tenant_id, session_id)`,
  `create function release_session_objects() returns trigger language plpgsql as $$
    begin
      update stored_objects set deleting = true, due_at = clock_timestamp()
        where tenant_id = old.tenant_id and session_id = old.id;
      return null;
    end $$`,
  `create trigger sessions_release_objects after delete on sessions
    for each row execute function release_session_objects()`,

  `create table blobs (
    ${OF_SESSION},
    id text not null,
    media_type text not null,
    name text,
    size bigint not null,
    body bytea,
    object_key text,
    digest text,
    created_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, session_id, id),
    constraint blobs_have_bytes check ((body is null) <> (object_key is null)),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,

  // `digest` is the declared content of an upload that a client sends to the storage.
  `create table uploads (
    ${OF_SESSION},
    id text not null,
    name text not null,
    media_type text not null,
    by_user text,
    owner text not null,
    key_id text,
    attempt integer not null default 1,
    size bigint not null default 0,
    chunks integer not null default 0,
    complete boolean not null default false,
    object_key text,
    digest text,
    created_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, session_id, id),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index uploads_incomplete on uploads (created_at) where not complete`,
  `create index uploads_by_user on uploads (by_user) where by_user is not null`,
  `create function release_upload_object() returns trigger language plpgsql as $$
    begin
      update stored_objects set deleting = true, due_at = clock_timestamp() where key = old.object_key;
      return null;
    end $$`,
  `create trigger uploads_release_object after delete on uploads
    for each row when (old.object_key is not null) execute function release_upload_object()`,
  `create trigger uploads_replace_object after update of object_key on uploads
    for each row when (old.object_key is distinct from new.object_key and old.object_key is not null)
    execute function release_upload_object()`,
  `create table upload_chunks (
    ${OF_SESSION},
    upload_id text not null,
    n integer not null,
    bytes bytea not null,
    primary key (tenant_id, session_id, upload_id, n),
    foreign key (tenant_id, session_id, upload_id) references uploads on delete cascade
  )`,
  // Uploads are mostly compressed already, so compressing them again would cost time for nothing.
  `alter table upload_chunks alter column bytes set storage external`,

  // The text of a file, in pieces.
  `create table attachments (
    ${OF_SESSION},
    id text not null,
    n bigint not null generated always as identity,
    turn text not null,
    name text not null,
    url text not null,
    media_type text not null,
    size bigint not null,
    chars bigint not null,
    pieces integer not null,
    is_cut boolean not null,
    added_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, session_id, id),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index attachments_newest on attachments (tenant_id, session_id, n desc)`,
  `create table attachment_pieces (
    ${OF_SESSION},
    attachment_id text not null,
    n integer not null,
    at bigint not null,
    line integer not null,
    text text not null,
    primary key (tenant_id, session_id, attachment_id, n),
    foreign key (tenant_id, session_id, attachment_id) references attachments on delete cascade
  )`,
];

const memories = [
  `create table memories (
    tenant_id text not null,
    user_id text not null,
    id text not null,
    text text not null,
    pinned boolean not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    updated_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, user_id, id)
  )`,
];

const features = [
  // The features that have tables here, and what an operator or an erasure does with them where no process has the feature.
  `create table features (
    name text primary key,
    remove text[] not null,
    user_columns text[] not null,
    installed_at timestamptz(3) not null default clock_timestamp()
  )`,
];

const access = [
  `create table redeemed_tickets (
    tenant_id text not null,
    id text not null,
    expires_at timestamptz(3) not null,
    primary key (tenant_id, id)
  )`,
  `create index redeemed_tickets_expiry on redeemed_tickets (expires_at)`,

  `create table idempotency_keys (
    tenant_id text not null,
    user_id text not null,
    route text not null,
    key text not null,
    digest text not null,
    made_id text not null,
    claim text,
    claimed_until timestamptz(3) not null,
    status integer,
    body json,
    session_id text,
    begun_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, user_id, route, key),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index idempotency_keys_age on idempotency_keys (begun_at)`,
  `create index idempotency_keys_session on idempotency_keys (tenant_id, session_id) where session_id is not null`,
];

const webhooks = [
  `create table webhook_endpoints (
    id text primary key,
    n bigint not null generated always as identity,
    tenant_id text not null references tenants on delete cascade,
    url text not null,
    secret text not null,
    events text[],
    created_at timestamptz(3) not null default clock_timestamp()
  )`,
  `create index webhook_endpoints_of_tenant on webhook_endpoints (tenant_id, n)`,

  // The primary key makes a delivery unique per endpoint and event. A foreign key to the endpoint would lock its row.
  `create table webhook_deliveries (
    endpoint_id text not null,
    id text not null,
    n bigint not null generated always as identity,
    ${OF_SESSION},
    type text not null,
    data json not null,
    state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
    attempts integer not null default 0,
    status integer,
    error text,
    claim text,
    created_at timestamptz(3) not null default clock_timestamp(),
    next_attempt_at timestamptz(3) not null default clock_timestamp(),
    ended_at timestamptz(3),
    primary key (endpoint_id, id),
    foreign key (tenant_id, session_id) references sessions on delete cascade
  )`,
  `create index webhook_deliveries_in_order on webhook_deliveries (endpoint_id, n)`,
  `create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at, n)
    where state = 'pending'`,
  `create index webhook_deliveries_claimed on webhook_deliveries (endpoint_id) where claim is not null`,
  // For deliveries whose endpoint was removed while they were queued.
  `create index webhook_deliveries_pending on webhook_deliveries (created_at) where state = 'pending'`,
  `create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null`,
  `create index webhook_deliveries_session on webhook_deliveries (tenant_id, session_id)`,
];

// A counter has several rows, called shards. A transaction adds to a shard that no other transaction is using, and readers
// add up all of them. Costs are in millionths.
const usage = [
  // The first free shard, so that a counter has only as many rows as it has had concurrent transactions. A transaction
  // that has a shard gets the same one again.
  `create function free_shard(tenant text) returns smallint language plpgsql volatile as $$
    declare
      class integer := hashtext('shard/' || tenant);
      shard integer := 0;
    begin
      while shard < 64 loop
        if pg_try_advisory_xact_lock(class, shard) then
          return shard;
        end if;
        shard := shard + 1;
      end loop;
      shard := floor(random() * 64);
      perform pg_advisory_xact_lock(class, shard);
      return shard;
    end $$`,

  `create table usage_days (
    tenant_id text not null,
    ${USAGE_OF_DAY},
    primary key (tenant_id, day, model, shard)
  ) with (fillfactor = 70)`,
  `create table usage_user_days (
    tenant_id text not null,
    user_id text not null,
    ${USAGE_OF_DAY},
    primary key (tenant_id, user_id, day, model, shard)
  ) with (fillfactor = 70)`,
  `create table usage_key_days (
    tenant_id text not null,
    key_id text not null,
    ${USAGE_OF_DAY},
    primary key (tenant_id, key_id, day, model, shard)
  ) with (fillfactor = 70)`,
  `create table usage_marks (
    tenant_id text not null,
    key text not null,
    marked_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, key)
  )`,
  `create index usage_marks_by_age on usage_marks (marked_at)`,

  // An empty `user_id` stands for each user of the tenant, or for the tenant itself.
  `create table caller_limits (
    tenant_id text not null references tenants on delete cascade,
    scope text not null check (scope in ('tenant', 'user')),
    user_id text collate "C" not null,
    source text not null check (source in ('operator', 'admin')),
    name text collate "C" not null,
    value double precision,
    changed_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, scope, user_id, source, name)
  )`,

  // A trigger keeps these equal to the sum of the uploads, also when a foreign key deletes them. The row with an empty user
  // is the sum of the tenant.
  `create table stored_bytes (
    tenant_id text not null,
    user_id text not null,
    shard smallint not null,
    bytes bigint not null,
    primary key (tenant_id, user_id, shard)
  ) with (fillfactor = 70)`,
  `create table stored_key_bytes (
    tenant_id text not null,
    key_id text not null,
    shard smallint not null,
    bytes bigint not null,
    primary key (tenant_id, key_id, shard)
  ) with (fillfactor = 70)`,
  // The rows of a removed tenant or user are deleted after its uploads, so a decrease can add a row too.
  `create function count_stored_bytes() returns trigger language plpgsql as $$
    declare
      added bigint := coalesce(new.size, 0) - coalesce(old.size, 0);
      tenant text := coalesce(new.tenant_id, old.tenant_id);
      owner text := coalesce(new.owner, old.owner);
      -- An upload that starts again possibly has another key.
      key text := case when added < 0 then old.key_id else new.key_id end;
      own_shard smallint;
    begin
      if added = 0 then
        return null;
      end if;
      own_shard := free_shard(tenant);
      insert into stored_bytes (tenant_id, user_id, shard, bytes)
        values (tenant, owner, own_shard, added), (tenant, '', own_shard, added)
        on conflict (tenant_id, user_id, shard) do update set bytes = stored_bytes.bytes + added;
      if key is not null then
        insert into stored_key_bytes (tenant_id, key_id, shard, bytes) values (tenant, key, own_shard, added)
          on conflict (tenant_id, key_id, shard) do update set bytes = stored_key_bytes.bytes + added;
      end if;
      return null;
    end $$`,
  `create trigger uploads_counted after insert or delete or update of size on uploads
    for each row execute function count_stored_bytes()`,
];

// The audit references no other table. It outlives its sessions, users and tenant, and contains only ids and numbers.
// Triggers refuse every change except adding rows, moving the head by one, and moving the start forward.
const audit = [
  // Spans of four weeks since 1970. A row gets the newest partition that exists, so that a missing partition never refuses
  // an entry.
  `create table audit_periods (period integer primary key)`,
  `create function audit_period(at bigint) returns integer language sql immutable as
    'select (at / 2419200000)::integer'`,
  `create function audit_clock() returns bigint language sql volatile as
    'select (extract(epoch from clock_timestamp()) * 1000)::bigint'`,
  `create function current_audit_period() returns integer language plpgsql volatile as $$
    begin
      return coalesce(
        (select max(period) from audit_periods where period <= audit_period(audit_clock())),
        (select min(period) from audit_periods));
    end $$`,

  // Subject and detail are exactly the hashed text, and `at` exactly the hashed number. `n` is unique in a tenant because
  // its head is locked while a row is added. A key over all partitions can't check it. Rows without a key id have a hash
  // without a key.
  `create table audit_log (
    tenant_id text not null,
    n bigint not null check (n > 0),
    at bigint not null,
    actor bigint,
    action text not null,
    subject text not null,
    detail text not null,
    prev_hash text not null,
    hash text not null,
    key_id text,
    period integer not null default current_audit_period(),
    primary key (tenant_id, n, period)
  ) partition by list (period)`,
  `create table audit_heads (
    tenant_id text primary key,
    n bigint not null,
    hash text not null
  )`,
  `create table audit_starts (
    tenant_id text primary key,
    n bigint not null,
    hash text not null,
    at bigint not null,
    key_id text,
    signature text
  )`,

  `create function audit_is_append_only() returns trigger language plpgsql as $$
    begin
      raise exception 'the audit can only be added to' using errcode = 'insufficient_privilege';
    end $$`,
  `create function audit_head_moves_by_one() returns trigger language plpgsql as $$
    begin
      if new.tenant_id <> old.tenant_id or new.n <> old.n + 1 then
        raise exception 'the head of the audit moves by one' using errcode = 'insufficient_privilege';
      end if;
      return new;
    end $$`,
  `create function audit_start_moves_forward() returns trigger language plpgsql as $$
    begin
      if new.tenant_id <> old.tenant_id or new.n <= old.n then
        raise exception 'the start of the audit moves forward' using errcode = 'insufficient_privilege';
      end if;
      return new;
    end $$`,
  `create trigger audit_log_rows before update or delete on audit_log
    for each row execute function audit_is_append_only()`,
  `create trigger audit_log_all before truncate on audit_log
    for each statement execute function audit_is_append_only()`,
  `create trigger audit_heads_update before update on audit_heads
    for each row execute function audit_head_moves_by_one()`,
  `create trigger audit_heads_delete before delete on audit_heads
    for each row execute function audit_is_append_only()`,
  `create trigger audit_heads_all before truncate on audit_heads
    for each statement execute function audit_is_append_only()`,
  `create trigger audit_starts_update before update on audit_starts
    for each row execute function audit_start_moves_forward()`,
  `create trigger audit_starts_delete before delete on audit_starts
    for each row execute function audit_is_append_only()`,
  `create trigger audit_starts_all before truncate on audit_starts
    for each statement execute function audit_is_append_only()`,

  // Like those of the archive, these functions run as their owner. They create the partitions of this span and the next
  // three.
  `create function create_audit_periods() returns void language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare
      this integer := audit_period(audit_clock());
      name text;
    begin
      if (select count(*) from audit_periods where period between this and this + 3) > 3 then
        return;
      end if;
      perform pg_advisory_xact_lock(hashtextextended('audit_periods', 0));
      for new_period in this .. this + 3 loop
        continue when exists (select from audit_periods where period = new_period);
        name := format('audit_log_%s', new_period);
        execute format('create table %I (like audit_log including all)', name);
        execute format('alter table audit_log attach partition %I for values in (%s)', name, new_period);
        insert into audit_periods (period) values (new_period);
      end loop;
    end $$`,
  // A partition is dropped only if every tenant with rows in it has a start at or after its last row there, and that row
  // is older than four weeks. It looks up the last row of each tenant, one tenant after the other. Returns false if the
  // partition may not be dropped.
  `create function drop_audit_period(old integer) returns boolean language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare
      name text := format('audit_log_%s', old);
      last_tenant text;
      last_n bigint;
      last_at bigint;
    begin
      perform from audit_periods where period = old for update;
      if not found or old >= current_audit_period() then
        return false;
      end if;
      loop
        execute format('select tenant_id, n, at from %I where $1 is null or tenant_id < $1
          order by tenant_id desc, n desc limit 1', name) into last_tenant, last_n, last_at using last_tenant;
        exit when last_tenant is null;
        if last_at > audit_clock() - 2419200000
          or not exists (select from audit_starts where tenant_id = last_tenant and n >= last_n)
        then
          return false;
        end if;
      end loop;
      execute format('alter table audit_log detach partition %I', name);
      execute format('drop table %I', name);
      delete from audit_periods where period = old;
      return true;
    end $$`,
  `select create_audit_periods()`,
];

const rights = [
  // A function that runs as its owner must not find tables of its caller.
  `do $$
  declare name text;
  begin
    foreach name in array array['create_archive_periods()', 'drop_archive_period(integer)',
      'create_audit_periods()', 'drop_audit_period(integer)']
    loop
      execute format('alter function %s set search_path = %s, pg_temp', name, current_setting('search_path'));
    end loop;
  end $$`,
];

const statements = [
  ...tenants,
  ...sessions,
  ...archive,
  ...queue,
  ...interactions,
  ...files,
  ...memories,
  ...features,
  ...access,
  ...webhooks,
  ...usage,
  ...audit,
  ...rights,
];

const digest = createHash("sha256").update(statements.join("\n")).digest("hex").slice(0, 12);

export const baseline: StoreMigration = {
  // The ledger of a database says which baseline created it.
  name: `0001-baseline-${digest}`,
  async up(tx) {
    for (const statement of statements) await sql.raw(statement).execute(tx);
  },
};
