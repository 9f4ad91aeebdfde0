/**
 * `archivePeriods` is migration 0035: archived events, turns and the journal in one partition per week, and the functions
 * that create and drop partitions.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration.
 * - A session has one period, and all its rows are in the partitions of that period, so a key without the period stays
 *   unique.
 * - A new session gets the newest period that exists, so that a missing partition never refuses events.
 * - The role of workers and gateways needs no right to create or drop tables: the functions run as their owner. They
 *   create only the next partitions, and drop only partitions that no session uses.
 * - There is no foreign key to sessions. It would lock that table while a partition is dropped. Every statement that adds
 *   rows holds the lock of the session.
 */
import { type Kysely, sql } from "kysely";
import type { StoreMigration } from "../migration-steps.ts";

const WEEK_SECONDS = 7 * 24 * 60 * 60;
/** How many partitions exist ahead of time. */
const AHEAD = 4;

/** The tables, and the keys of each within a session, the primary key first. */
const TABLES = {
  archived_events: ["last_seq"],
  turns: ["id", "start_seq"],
  turn_journal: ["turn, key"],
} as const;
const NAMES = `array['${Object.keys(TABLES).join("', '")}']`;

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

  // A sequence of its own: not every version of PostgreSQL has partitions of a table with an identity.
  `create sequence turn_journal_numbers`,
  `select setval('turn_journal_numbers', coalesce(max(n), 0) + 1, false) from turn_journal`,
  `alter table turn_journal alter column n drop identity`,
  `alter table turn_journal alter column n set default nextval('turn_journal_numbers')`,
  ...Object.entries(TABLES).flatMap(([name, [primary, ...others]]) => [
    `alter table ${name} rename to ${name}_before`,
    `alter table ${name}_before rename constraint ${name}_pkey to ${name}_before_pkey`,
    `create table ${name} (
      like ${name}_before including defaults including constraints,
      period integer not null,
      ${[`primary key (tenant_id, session_id, period, ${primary})`, ...others.map((key) => `unique (tenant_id, session_id, period, ${key})`)].join(",\n      ")}
    ) partition by list (period)`,
  ]),
  `drop index turns_open`,
  `create index turns_open on turns (tenant_id, session_id, start_seq) where open`,

  // Attaching a table locks the others less than creating a partition.
  `create function create_archive_periods() returns void language plpgsql security definer
    set lock_timeout = '2s' as $$
    declare
      this integer := archive_period(clock_timestamp());
      parent text;
      name text;
    begin
      if (select count(*) from archive_periods where period between this and this + ${AHEAD}) > ${AHEAD} then
        return;
      end if;
      perform pg_advisory_xact_lock(hashtextextended('archive_periods', 0));
      for new_period in this .. this + ${AHEAD} loop
        continue when exists (select from archive_periods where period = new_period);
        foreach parent in array ${NAMES} loop
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
      foreach parent in array ${NAMES} loop
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
  // It is declared immutable, although a session that is used for long gets a later period. So PostgreSQL calls it while it
  // plans a statement, and plans for one partition, not for all of them. The plan of a statement with parameters is used
  // once, so the period is as new as the statement.
  `create function session_period(tenant text, session text) returns integer language plpgsql immutable as $$
    begin
      return (select period from sessions where tenant_id = tenant and id = session);
    end $$`,
  ...Object.keys(TABLES).flatMap((name) => [
    `insert into ${name} select e.*, s.period
      from ${name}_before e join sessions s on s.tenant_id = e.tenant_id and s.id = e.session_id`,
    `drop table ${name}_before`,
  ]),
];

export const archivePeriods: StoreMigration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
  indexes: { sessions_of_period: sql`on sessions (period)` },
};
