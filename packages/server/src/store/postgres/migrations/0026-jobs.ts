/**
 * `jobs` is migration 0026: the job of a session, the process that runs a turn, deaths, parked turns, and the order of
 * jobs. The queue itself is in a schema of its own; see `job-queue.ts`.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. `next_rank`
 * is `rankOf` in `rules/jobs.ts`.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";
import { MAX_RANK, MAX_RANKED_USERS, MIN_SUSPICION } from "../../rules/jobs.ts";

const statements = [
  // `queue_agent` is null for the queue of all workers, also if the agent is not registered.
  `alter table waiting_messages add column agent text, add column queue_agent text, add column job uuid,
    add column rank integer`,
  `create index waiting_ranked on waiting_messages (tenant_id, owner, rank) where rank is not null`,
  `alter table running_turns add column agent text, add column queue_agent text, add column job uuid,
    add column rank integer, add column executor text, add column deaths integer not null default 0,
    add column alone boolean not null default false, add column suspicion smallint not null default 0,
    add column parked_at timestamptz(3), add column wake_at timestamptz(3)`,
  `drop index running_unattempted`,
  `create index running_ranked on running_turns (tenant_id, owner, rank) where rank is not null`,
  `create index running_started on running_turns (rank) where executor is not null`,
  `create index running_of_executor on running_turns (executor) where executor is not null`,
  `create index running_suspected on running_turns (suspicion) where suspicion >= ${MIN_SUSPICION}`,
  `create index running_wake on running_turns (wake_at) where wake_at is not null`,
  `create table dead_turns (
    tenant_id text not null,
    session_id text not null,
    turn text not null,
    agent text,
    deaths integer not null,
    at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, session_id, turn),
    foreign key (tenant_id, session_id) references sessions (tenant_id, id) on delete cascade
  )`,
  `create index dead_turns_by_time on dead_turns (at)`,
  `alter table leases add column renewed_at timestamptz(3) not null default clock_timestamp(),
    add column has_lock boolean not null default false`,
  // One row: when a process last returned jobs without heartbeats.
  `create table job_maintenance (at timestamptz(3) not null)`,
  `insert into job_maintenance values (clock_timestamp())`,
  // Each part reads one entry of an index, and the users are counted one by one up to the maximum. A connection keeps the
  // plan that it made while the tables were small, so that plan must use the indexes too.
  `create function next_rank(tenant text, of_owner text) returns integer language plpgsql stable
    set enable_seqscan = off as $$
    declare
      started integer := coalesce((select max(rank) from running_turns where executor is not null), 0);
      queued integer := (select max(rank) from waiting_messages
        where tenant_id = tenant and owner = of_owner and rank is not null);
      running integer := (select max(rank) from running_turns
        where tenant_id = tenant and owner = of_owner and rank is not null);
      users integer := 0;
      next_user text := (select min(owner) from waiting_messages where tenant_id = tenant and rank is not null);
    begin
      while next_user is not null and users < ${MAX_RANKED_USERS} loop
        users := users + 1;
        next_user := (select min(owner) from waiting_messages
          where tenant_id = tenant and rank is not null and owner > next_user);
      end loop;
      return least(${MAX_RANK}, greatest(
        started + case when queued is null then users else 0 end,
        greatest(queued, running) + greatest(users, 1)));
    end $$`,
];

export const jobs: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
