/**
 * `keyLimits` is migration 0025: the API key behind messages, turns, uploads and usage, the usage of running turns, and
 * the limits that their model calls compare.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Each
 * transaction that changes a row of a key has locked the tenant's row before. So these rows make no transaction wait
 * that did not wait already, and the order of several keys causes no deadlock.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  `alter table waiting_messages add column key_id text, add column usage_limits json`,
  `create index waiting_of_key on waiting_messages (tenant_id, key_id, session_id)
    where body is not null and key_id is not null`,
  // Costs are in millionths.
  `alter table running_turns add column key_id text, add column usage_limits json,
    add column used_tokens bigint not null default 0, add column used_micros bigint not null default 0`,
  `create index running_of_key on running_turns (tenant_id, key_id, session_id) where key_id is not null`,

  `create table usage_key_days (
    tenant_id text not null references tenants on delete cascade,
    key_id text not null,
    day text not null check (day ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'),
    model text collate "C" not null,
    turns bigint not null,
    calls bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    total_tokens bigint not null,
    cost_micros bigint not null,
    primary key (tenant_id, key_id, day, model)
  ) with (fillfactor = 70)`,

  `alter table uploads add column key_id text`,
  `create table stored_key_bytes (
    tenant_id text not null references tenants on delete cascade,
    key_id text not null,
    bytes bigint not null,
    primary key (tenant_id, key_id)
  ) with (fillfactor = 70)`,
  // The user's row before the tenant's, and the key's last.
  `create or replace function count_stored_bytes() returns trigger language plpgsql as $$
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
        if new.key_id is not null then
          insert into stored_key_bytes values (tenant, new.key_id, added)
            on conflict (tenant_id, key_id) do update set bytes = stored_key_bytes.bytes + added;
        end if;
      elsif added < 0 then
        -- Without an insert: the tenant may be deleted in this statement.
        update stored_bytes set bytes = bytes + added where tenant_id = tenant and user_id = owner;
        update stored_bytes set bytes = bytes + added where tenant_id = tenant and user_id = '';
        -- The upload starts again, possibly with another key.
        update stored_key_bytes set bytes = bytes + added where tenant_id = tenant and key_id = old.key_id;
      end if;
      return null;
    end $$`,
];

export const keyLimits: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
