/**
 * `listUnfinishedTurns`, `listFailedTurns`, `findTurn`, `findNewestSession`, `readClaim`, `readDeaths`, `readWorkers`
 * and `readAgent` read the rows with which an operator finds turns and the reasons why they hang. They change nothing.
 *
 * Invariant: every query that returns rows of sessions has a tenant and a limit. It reads them through an index, in the
 * order of the index. Times are of the database's clock.
 */
import { sql } from "kysely";
import { type Db, toStoreError } from "@turnstream/server/internal";
import type { SessionRef } from "@turnstream/server";

export interface ListedTurn {
  readonly session: string;
  readonly user: string;
  /** Null for a message that no worker has taken yet. */
  readonly turn: string | null;
  /** The agent that the message names, or null for the default agent. */
  readonly agent: string | null;
  readonly state: "queued" | "running" | "waiting" | "failed";
  /** When the message was sent, the turn began, or the failed session last changed. */
  readonly since: number;
  readonly attempts: number;
  /** The kind of the oldest interaction that the turn waits for, or null. */
  readonly waitsFor: string | null;
  /** The worker that runs the turn, or null if none does. */
  readonly worker: string | null;
  readonly leaseUntil: number | null;
}

/** The largest page, and how many of the newest sessions of a tenant are searched for a turn that has ended. */
export const MAX_TURNS = 1_000;

/** Returns turns that have not ended, and messages that no worker has taken, the oldest first. */
export async function listUnfinishedTurns(db: Db, tenant: string, limit: number): Promise<ListedTurn[]> {
  const most = checkMost(limit);
  return await guarded("list the turns", async () => {
    const running = await sql<ListedTurn>`
      select s.id as session, s.user_id as "user", r.turn, r.options ->> 'agent' as agent,
        case when i.kind is null then 'running' else 'waiting' end as state, r.begun_at as since, r.attempts,
        i.kind as "waitsFor", q.executor as worker, l.until as "leaseUntil"
      from running_turns r
      join sessions s on s.tenant_id = r.tenant_id and s.id = r.session_id
      join turn_queue q on q.tenant_id = r.tenant_id and q.session_id = r.session_id
      left join leases l on l.executor = q.executor
      left join lateral (select kind from interactions
        where tenant_id = s.tenant_id and session_id = s.id and status in ('pending', 'processing') and turn_id = r.turn
        order by n limit 1) i on true
      where r.tenant_id = ${tenant}
      order by r.begun_at limit ${most}`.execute(db);
    const queued = await sql<ListedTurn>`
      select s.id as session, s.user_id as "user", null as turn, w.options ->> 'agent' as agent, 'queued' as state,
        w.added_at as since, 0 as attempts, null as "waitsFor", null as worker, null as "leaseUntil"
      from waiting_messages w
      join sessions s on s.tenant_id = w.tenant_id and s.id = w.session_id
      where w.tenant_id = ${tenant} and w.body is not null and not exists (
        select from running_turns r where r.tenant_id = w.tenant_id and r.session_id = w.session_id)
      order by w.added_at, w.n limit ${most}`.execute(db);
    return [...running.rows, ...queued.rows].toSorted((a, b) => a.since - b.since).slice(0, most);
  });
}

/** Returns the sessions whose last turn failed, the newest first, among the newest `MAX_TURNS` sessions. */
export async function listFailedTurns(db: Db, tenant: string, limit: number): Promise<ListedTurn[]> {
  const most = checkMost(limit);
  return await guarded("list the failed turns", async () => {
    const { rows } = await sql<ListedTurn>`
      select s.id as session, s.user_id as "user", t.id as turn, null as agent, 'failed' as state,
        s.updated_at as since, 0 as attempts, null as "waitsFor", null as worker, null as "leaseUntil"
      from ${newestSessions(tenant)} s cross join lateral ${lastTurn} t
      where t.status = 'error' and (
        select r.turn from running_turns r where r.tenant_id = ${tenant} and r.session_id = s.id limit 1) is null
      order by s.updated_at desc limit ${most}`.execute(db);
    return rows;
  });
}

/**
 * Finds a session by its id, or by the id of its turn: an unfinished turn, or the last turn of one of the newest
 * `MAX_TURNS` sessions.
 */
export async function findTurn(db: Db, tenant: string, id: string): Promise<SessionRef | null> {
  return await guarded("find the turn", async () => {
    const { rows } = await sql<{ session: string }>`
      select s.id as session from sessions s where s.id = ${id} and s.tenant_id = ${tenant}
      union all (select r.session_id from running_turns r where r.turn = ${id} and r.tenant_id = ${tenant} limit 1)
      limit 1`.execute(db);
    const found = rows[0] ?? (await findEnded(db, tenant, id));
    return found === undefined ? null : { tenant, session: found.session };
  });
}

async function findEnded(db: Db, tenant: string, id: string): Promise<{ session: string } | undefined> {
  const { rows } = await sql<{ session: string }>`
    select s.id as session from ${newestSessions(tenant)} s cross join lateral ${lastTurn} t
    where t.id = ${id} limit 1`.execute(db);
  return rows[0];
}

/** Returns the session of a tenant that changed last, with its user, or null if there is none. */
export async function findNewestSession(
  db: Db,
  tenant: string,
): Promise<{ readonly session: string; readonly user: string } | null> {
  return await guarded("find a session", async () => {
    const { rows } = await sql<{ session: string; user: string }>`
      select s.id as session, s.user_id as "user" from ${newestSessions(tenant)} s limit 1`.execute(db);
    return rows[0] ?? null;
  });
}

export interface TurnClaim {
  readonly worker: string;
  /** Null if the lease was released. */
  readonly leaseUntil: number | null;
}

/** Returns the worker that runs the session's turn, or null if none does. */
export async function readClaim(db: Db, ref: SessionRef): Promise<TurnClaim | null> {
  return await guarded("read the claim", async () => {
    const { rows } = await sql<TurnClaim>`
      select q.executor as worker, l.until as "leaseUntil"
      from turn_queue q left join leases l on l.executor = q.executor
      where q.tenant_id = ${ref.tenant} and q.session_id = ${ref.session} and q.executor is not null`.execute(
      db,
    );
    return rows[0] ?? null;
  });
}

/** Returns how many processes died while they ran a turn, if it was ended for that, and 0 otherwise. */
export async function readDeaths(db: Db, { tenant, session }: SessionRef, turn: string): Promise<number> {
  return await guarded("read the dead turn", async () => {
    const row = await db
      .selectFrom("dead_turns")
      .select("deaths")
      .where("tenant_id", "=", tenant)
      .where("session_id", "=", session)
      .where("turn", "=", turn)
      .executeTakeFirst();
    return row?.deaths ?? 0;
  });
}

/** Returns the agent that the oldest queued message names, or null. */
export async function readQueuedAgent(db: Db, { tenant, session }: SessionRef): Promise<string | null> {
  return await guarded("read the queued message", async () => {
    const { rows } = await sql<{ agent: string | null }>`
      select options ->> 'agent' as agent from waiting_messages
      where tenant_id = ${tenant} and session_id = ${session} and body is not null order by n limit 1`.execute(
      db,
    );
    return rows[0]?.agent ?? null;
  });
}

export interface WorkerStatus {
  /** The clock of the database. */
  readonly now: number;
  /** How many workers have a valid lease. */
  readonly live: number;
  /** When the last lease of all ends or ended, or null if there is none. */
  readonly lastLeaseUntil: number | null;
}

export async function readWorkers(db: Db): Promise<WorkerStatus> {
  return await guarded("read the workers", async () => {
    const { rows } = await sql<WorkerStatus>`
      select clock_timestamp() as now, (select max(until) from leases) as "lastLeaseUntil",
        (select count(*) from leases where until > clock_timestamp()) as live`.execute(db);
    return rows[0] ?? { now: 0, live: 0, lastLeaseUntil: null };
  });
}

export interface AgentStatus {
  /** When a worker last registered this agent, or null if none did. */
  readonly registeredAt: number | null;
  /** When a worker last registered any agent: the start of the newest worker. */
  readonly newestAt: number | null;
}

export async function readAgent(db: Db, name: string): Promise<AgentStatus> {
  return await guarded("read the agent", async () => {
    const { rows } = await sql<AgentStatus>`
      select (select registered_at from agents where name = ${name}) as "registeredAt",
        (select max(registered_at) from agents) as "newestAt"`.execute(db);
    return rows[0] ?? { registeredAt: null, newestAt: null };
  });
}

function newestSessions(tenant: string) {
  return sql`(select tenant_id, id, user_id, period, updated_at from sessions where tenant_id = ${tenant}
    order by updated_at desc, id collate "C" desc limit ${MAX_TURNS})`;
}

const lastTurn = sql`(select id, status from turns
  where tenant_id = s.tenant_id and session_id = s.id and period = s.period order by start_seq desc limit 1)`;

function checkMost(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_TURNS)
    throw new RangeError(`\`limit\` must be an integer from 1 to ${MAX_TURNS}, got ${limit}.`);
  return limit;
}

async function guarded<T>(what: string, query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    throw toStoreError(error, what);
  }
}
