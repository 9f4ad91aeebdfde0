/**
 * `archivePeriods` is migration 0035: archived events in one partition per week, and the functions that create and drop
 * partitions.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - A session has one period, and all its events are in the partition of that period, so `(tenant, session, last_seq)`
 *   stays unique.
 * - A new session gets the newest period that exists, so that a missing partition never refuses events.
 * - The role of workers and gateways needs no right to create or drop tables: the functions run as their owner. They
 *   create only the next partitions, and drop only partitions that no session uses.
 * - There is no foreign key to sessions. It would lock that table while a partition is dropped.
 */
import { type Kysely, sql } from "kysely";
import type { StoreMigration } from "../migration-steps.ts";

const WEEK_SECONDS = 7 * 24 * 60 * 60;
/** How many partitions exist ahead of time. */
const AHEAD = 4;

const statements = [
  `create table archive_periods (
    period integer primary key,
    -- When no session used it any more.
    emptied_at timestamptz(3)
  )`,
  // Weeks since 1970.
  `create function archive_period(at timestamptz) returns integer language sql stable as
    'select floor(extract(epoch from at) / ${WEEK_SECONDS})::integer'`,
  `create function current_archive_period() returns integer language plpgsql stable as $$
    begin
      return coalesce(
        (select max(period) from archive_periods
          where period <= archive_period(clock_timestamp()) and emptied_at is null),
        (select min(period) from archive_periods));
    end $$`,

  `alter table archived_events rename to archived_events_before`,
  `alter table archived_events_before rename constraint archived_events_pkey to archived_events_before_pkey`,
  `create table archived_events (
    like archived_events_before including defaults including constraints,
    period integer not null,
    primary key (tenant_id, session_id, period, last_seq)
  ) partition by list (period)`,

  // Attaching a table locks the events less than creating a partition.
  `create function create_archive_periods() returns void language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare
      this integer := archive_period(clock_timestamp());
      name text;
    begin
      if (select count(*) from archive_periods where period between this and this + ${AHEAD}) > ${AHEAD} then
        return;
      end if;
      perform pg_advisory_xact_lock(hashtextextended('archive_periods', 0));
      for new_period in this .. this + ${AHEAD} loop
        continue when exists (select from archive_periods where period = new_period);
        name := format('archived_events_%s', new_period);
        execute format('create table %I (like archived_events including all)', name);
        execute format('alter table archived_events attach partition %I for values in (%s)', name, new_period);
        insert into archive_periods (period) values (new_period);
      end loop;
    end $$`,
  `create function drop_archive_period(old integer) returns boolean language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare name text := format('archived_events_%s', old);
    begin
      perform from archive_periods where period = old and emptied_at is not null for update;
      if not found or old >= current_archive_period() or exists (select from sessions where period = old) then
        return false;
      end if;
      execute format('alter table archived_events detach partition %I', name);
      execute format('drop table %I', name);
      delete from archive_periods where period = old;
      return true;
    end $$`,
  // A function that runs as its owner must not find tables of its caller.
  `do $$
  begin
    execute format('alter function create_archive_periods() set search_path = %s, pg_temp', current_setting('search_path'));
    execute format('alter function drop_archive_period(integer) set search_path = %s, pg_temp',
      current_setting('search_path'));
  end $$`,
  `select create_archive_periods()`,

  // A constant default is stored once and not in every row.
  `do $$
  begin
    execute format('alter table sessions add column period integer not null default %s', current_archive_period());
  end $$`,
  `alter table sessions alter column period set default current_archive_period()`,
  `insert into archived_events select e.*, s.period
    from archived_events_before e join sessions s on s.tenant_id = e.tenant_id and s.id = e.session_id`,
  `drop table archived_events_before`,
];

export const archivePeriods: StoreMigration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
  indexes: { sessions_of_period: sql`on sessions (period)` },
};
