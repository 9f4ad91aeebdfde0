/**
 * `auditPeriods` is migration 0049: the audit in one partition per four weeks, the starts of shortened audits, and the
 * functions that create and drop partitions.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - A row gets the newest partition that exists, so that a missing partition never refuses an entry.
 * - A partition is dropped only if every tenant with rows in it has a start at or after its last row there, and that row
 *   is older than `MIN_AGE_MS`. A start only moves forward.
 * - `n` is unique in a tenant because its head is locked while a row is added. A key over all partitions can't check it.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";
import { AUDIT_PERIOD_MS } from "../../rules/audit-start.ts";

/** How many partitions exist ahead of time. */
const AHEAD = 3;
const MIN_AGE_MS = AUDIT_PERIOD_MS;

const statements = [
  `create table audit_periods (period integer primary key)`,
  // Spans of four weeks since 1970.
  `create function audit_period(at bigint) returns integer language sql immutable as 'select (at / ${AUDIT_PERIOD_MS})::integer'`,
  `create function audit_clock() returns bigint language sql volatile as
    'select (extract(epoch from clock_timestamp()) * 1000)::bigint'`,
  `create function current_audit_period() returns integer language plpgsql volatile as $$
    begin
      return coalesce(
        (select max(period) from audit_periods where period <= audit_period(audit_clock())),
        (select min(period) from audit_periods));
    end $$`,

  `alter table audit_log rename to audit_log_before`,
  `alter table audit_log_before rename constraint audit_log_pkey to audit_log_before_pkey`,
  `create table audit_log (
    like audit_log_before including defaults including constraints,
    period integer not null default current_audit_period(),
    primary key (tenant_id, n, period)
  ) partition by list (period)`,
  `create trigger audit_log_rows before update or delete on audit_log
    for each row execute function audit_is_append_only()`,
  `create trigger audit_log_all before truncate on audit_log
    for each statement execute function audit_is_append_only()`,

  `create table audit_starts (
    tenant_id text primary key,
    n bigint not null,
    hash text not null,
    at bigint not null,
    key_id text,
    signature text
  )`,
  `create function audit_start_moves_forward() returns trigger language plpgsql as $$
  begin
    if new.tenant_id <> old.tenant_id or new.n <= old.n then
      raise exception 'the start of the audit moves forward' using errcode = 'insufficient_privilege';
    end if;
    return new;
  end $$`,
  `create trigger audit_starts_update before update on audit_starts
    for each row execute function audit_start_moves_forward()`,
  `create trigger audit_starts_delete before delete on audit_starts
    for each row execute function audit_is_append_only()`,
  `create trigger audit_starts_all before truncate on audit_starts
    for each statement execute function audit_is_append_only()`,

  `create function create_audit_periods() returns void language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare
      this integer := audit_period(audit_clock());
      name text;
    begin
      if (select count(*) from audit_periods where period between this and this + ${AHEAD}) > ${AHEAD} then
        return;
      end if;
      perform pg_advisory_xact_lock(hashtextextended('audit_periods', 0));
      for new_period in this .. this + ${AHEAD} loop
        continue when exists (select from audit_periods where period = new_period);
        name := format('audit_log_%s', new_period);
        execute format('create table %I (like audit_log including all)', name);
        execute format('alter table audit_log attach partition %I for values in (%s)', name, new_period);
        insert into audit_periods (period) values (new_period);
      end loop;
    end $$`,
  // It looks up the last row of each tenant in the partition, one tenant after the other. Returns false if it may not be
  // dropped.
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
        if last_at > audit_clock() - ${MIN_AGE_MS}
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
  // A function that runs as its owner must not find tables of its caller.
  `do $$
  begin
    execute format('alter function create_audit_periods() set search_path = %s, pg_temp', current_setting('search_path'));
    execute format('alter function drop_audit_period(integer) set search_path = %s, pg_temp',
      current_setting('search_path'));
  end $$`,
  `select create_audit_periods()`,
  `insert into audit_log select *, current_audit_period() from audit_log_before`,
  `drop table audit_log_before`,
];

export const auditPeriods: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
