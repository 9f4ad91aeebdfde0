/**
 * `limits` is migration 0024: limits of tenants and users, usage per user, and what the limits count.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Triggers
 * keep `stored_bytes` equal to the sum of the uploads, also when a foreign key deletes them.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
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

  // Costs are in millionths.
  `alter table usage_days add column cost_micros bigint not null default 0`,
  `create table usage_user_days (
    tenant_id text not null references tenants on delete cascade,
    user_id text not null,
    day text not null check (day ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'),
    model text collate "C" not null,
    turns bigint not null,
    calls bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    total_tokens bigint not null,
    cost_micros bigint not null,
    primary key (tenant_id, user_id, day, model)
  ) with (fillfactor = 70)`,

  // The owner of the session, so that what a user has in use is found without reading all sessions of the user.
  `alter table waiting_messages add column owner text`,
  `update waiting_messages w set owner = s.user_id
    from sessions s where s.tenant_id = w.tenant_id and s.id = w.session_id and w.body is not null`,
  `create index waiting_of_owner on waiting_messages (tenant_id, owner, session_id) where body is not null`,
  `alter table running_turns add column owner text`,
  `update running_turns r set owner = s.user_id
    from sessions s where s.tenant_id = r.tenant_id and s.id = r.session_id`,
  `create index running_of_owner on running_turns (tenant_id, owner, session_id)`,
  `alter table uploads add column owner text`,
  `update uploads u set owner = s.user_id from sessions s where s.tenant_id = u.tenant_id and s.id = u.session_id`,

  // The row with an empty user is the sum of the tenant.
  `create table stored_bytes (
    tenant_id text not null references tenants on delete cascade,
    user_id text not null,
    bytes bigint not null,
    primary key (tenant_id, user_id)
  ) with (fillfactor = 70)`,
  `insert into stored_bytes
    select tenant_id, owner, sum(size) from uploads where owner is not null group by tenant_id, owner
    union all
    select tenant_id, '', sum(size) from uploads where owner is not null group by tenant_id`,
  // The user's row before the tenant's, so that two transactions never wait for each other.
  `create function count_stored_bytes() returns trigger language plpgsql as $$
    declare
      added bigint := coalesce(new.size, 0) - coalesce(old.size, 0);
      tenant text := coalesce(new.tenant_id, old.tenant_id);
      owner text := coalesce(new.owner, old.owner);
    begin
      -- A process of an earlier version has started the upload.
      if owner is null then
        return null;
      end if;
      if added > 0 then
        insert into stored_bytes values (tenant, owner, added)
          on conflict (tenant_id, user_id) do update set bytes = stored_bytes.bytes + added;
        insert into stored_bytes values (tenant, '', added)
          on conflict (tenant_id, user_id) do update set bytes = stored_bytes.bytes + added;
      elsif added < 0 then
        -- Without an insert: the tenant may be deleted in this statement.
        update stored_bytes set bytes = bytes + added where tenant_id = tenant and user_id = owner;
        update stored_bytes set bytes = bytes + added where tenant_id = tenant and user_id = '';
      end if;
      return null;
    end $$`,
  `create trigger uploads_counted after insert or delete or update of size on uploads
    for each row execute function count_stored_bytes()`,
];

export const limits: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
