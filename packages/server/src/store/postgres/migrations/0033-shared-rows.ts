/**
 * `sharedRows` is migration 0033: no row of a tenant that concurrent transactions of its sessions update or lock, and no
 * search that reads messages behind running turns.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - A counter has several rows, called shards. A transaction adds to a shard that no other transaction is using, and
 *   readers add up all of them.
 * - `existing_tenant` replaces foreign keys to `tenants`. Each of those locked the tenant's row, and concurrent locks of
 *   one row make multixacts. The lock in the function is in memory. `tenants.remove` takes it exclusively, so no row is
 *   added for a tenant that is being removed.
 */
import { type Kysely, sql } from "kysely";
import type { StoreMigration } from "../migration-steps.ts";

/** How many transactions can add to the same counter without waiting for each other. */
const SHARDS = 64;

/** The tables of counters, and the rest of their primary keys. */
const COUNTERS = {
  usage_days: "day, model",
  usage_user_days: "user_id, day, model",
  usage_key_days: "key_id, day, model",
  stored_bytes: "user_id",
  stored_key_bytes: "key_id",
} as const;

/** The tables that get rows while sessions are used. */
const HOT = [
  ...Object.keys(COUNTERS),
  "sessions",
  "session_counters",
  "usage_marks",
  "people",
  "memories",
  "redeemed_tickets",
  "idempotency_keys",
];

const statements = [
  // The names of foreign keys depend on the version of PostgreSQL, so look them up.
  `do $$
  declare fk record;
  begin
    for fk in select conrelid::regclass as child, conname as name from pg_constraint
      where contype = 'f' and (
        (confrelid = 'tenants'::regclass
          and conrelid = any (array[${HOT.map((name) => `'${name}'`).join(", ")}]::regclass[]))
        or (confrelid = 'webhook_endpoints'::regclass and conrelid = 'webhook_deliveries'::regclass))
    loop
      execute format('alter table %s drop constraint %I', fk.child, fk.name);
    end loop;
  end $$`,
  ...Object.entries(COUNTERS).map(
    ([name, rest]) =>
      `alter table ${name} add column shard smallint not null default 0,
        drop constraint ${name}_pkey, add primary key (tenant_id, ${rest}, shard)`,
  ),

  // A volatile function reads with a new snapshot after the lock, so it sees a removal that it has waited for.
  `create function existing_tenant(tenant text) returns text language plpgsql volatile as $$
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('tenant/' || tenant, 0));
      if not exists (select from tenants where id = tenant) then
        raise exception 'the tenant does not exist' using errcode = 'foreign_key_violation';
      end if;
      return tenant;
    end $$`,
  // The first free shard, so that a counter has only as many rows as it has had concurrent transactions. A transaction
  // that has a shard gets the same one again.
  `create function free_shard(tenant text) returns smallint language plpgsql volatile as $$
    declare
      class integer := hashtext('shard/' || tenant);
      shard integer := 0;
    begin
      while shard < ${SHARDS} loop
        if pg_try_advisory_xact_lock(class, shard) then
          return shard;
        end if;
        shard := shard + 1;
      end loop;
      shard := floor(random() * ${SHARDS});
      perform pg_advisory_xact_lock(class, shard);
      return shard;
    end $$`,

  // The rows of a removed tenant or user are deleted after its uploads, so a decrease can add a row too.
  `create or replace function count_stored_bytes() returns trigger language plpgsql as $$
    declare
      added bigint := coalesce(new.size, 0) - coalesce(old.size, 0);
      tenant text := coalesce(new.tenant_id, old.tenant_id);
      owner text := coalesce(new.owner, old.owner);
      -- An upload that starts again possibly has another key.
      key text := case when added < 0 then old.key_id else new.key_id end;
      own_shard smallint;
    begin
      -- A process of an earlier version has started the upload.
      if owner is null or added = 0 then
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
];

export const sharedRows: StoreMigration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
  indexes: {
    waiting_startable: sql`on waiting_messages (added_at, n) where job is not null`,
    // For deliveries whose endpoint was removed while they were queued.
    webhook_deliveries_pending: sql`on webhook_deliveries (created_at) where state = 'pending'`,
  },
};
