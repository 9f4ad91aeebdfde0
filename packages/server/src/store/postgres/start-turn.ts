/**
 * `startTurn` makes a process run the turn of a fetched job, and `endTurn` ends it, on PostgreSQL. `moveOrphans` moves
 * jobs of removed agents.
 *
 * Invariant: three statements: lock the session, continue the turn or take the oldest message, and delete the job. A turn
 * that another process runs is never taken, whatever the job contains.
 */
import { type RawBuilder, sql } from "kysely";
import type { SessionRef } from "../../util/refs.ts";
import { DEATHS_BEFORE_ALONE, type TurnJob } from "../ports/jobs.ts";
import type { EndReceipt } from "../ports/running.ts";
import { checkId } from "../rules/arguments.ts";
import type { Db } from "./database.ts";
import type { JobQueue } from "./job-queue.ts";
import { newestEntry, type TurnRow } from "./running-rows.ts";
import { inTransaction, ofSession, tryLockSession } from "./session-row.ts";
import { newJobId, nextRank, queueAgent, type QueuedRow, toJob } from "./turn-jobs.ts";

export interface StartedBy {
  readonly executor: string;
  readonly turn: string;
  readonly agents: readonly string[];
}

type StartedRow = TurnRow & {
  readonly old_alone: boolean;
  readonly old_job: string | null;
  readonly old_agent: string | null;
};

export async function startTurn(
  tx: Db,
  queue: JobQueue,
  job: TurnJob,
  by: StartedBy,
): Promise<TurnRow | null> {
  checkId(by.executor, "executor");
  checkId(by.turn, "turn");
  const session = await tryLockSession(tx, job);
  const row = session === null ? undefined : await start(tx, job, by);
  const obsolete = [job];
  if (row !== undefined && row.old_job !== null && row.old_job !== job.id)
    obsolete.push({ ...job, id: row.old_job, agent: row.old_agent, alone: row.old_alone });
  await queue.delete(tx, obsolete);
  if (row !== undefined) return row;
  if (session !== null) await move(tx, queue, job, sql`not ${canRun(by.agents)}`);
  return null;
}

/** True for a row whose turn a worker with these agents can run. */
function canRun(agents: readonly string[]) {
  return sql<boolean>`(agent is null or agent = any(${agents}::text[])
    or not exists (select from agents where name = agent))`;
}

async function start(tx: Db, job: TurnJob, { executor, turn, agents }: StartedBy) {
  const of = sql`tenant_id = ${job.tenant} and session_id = ${job.session}`;
  const { rows } = await sql<StartedRow>`
    with before as (select job, queue_agent, alone from running_turns where ${of}),
    oldest as (
      select * from (
        select * from waiting_messages where ${of} and body is not null and not exists (select from before)
        order by n limit 1) first
      where ${canRun(agents)}),
    settled as (
      update waiting_messages w
      set body = null, by_user = null, options = null, usage_limits = null, job = null, rank = null
      from oldest
      where w.tenant_id = oldest.tenant_id and w.session_id = oldest.session_id and w.id = oldest.id),
    taken as (
      insert into running_turns (tenant_id, session_id, turn, message_id, message, message_by, message_at, options,
        owner, key_id, usage_limits, agent, queue_agent, rank, job, executor, attempts, fruitless)
      select tenant_id, session_id, ${turn}, id, body, by_user, added_at, options,
        owner, key_id, usage_limits, agent, queue_agent, rank, ${job.id}::uuid, ${executor}, 1, 1 from oldest
      returning *),
    continued as (
      update running_turns set job = ${job.id}::uuid, executor = ${executor}, parked_at = null, wake_at = null,
        alone = alone and deaths >= ${DEATHS_BEFORE_ALONE}, suspicion = deaths,
        attempts = attempts + 1, fruitless = case when ${newestEntry(job)} > journaled then 1 else fruitless + 1 end,
        journaled = ${newestEntry(job)}
      where ${of} and (executor is null or (executor = ${executor} and job = ${job.id}::uuid)) and ${canRun(agents)}
      returning *)
    select started.*, sessions.id, sessions.user_id, old.job as old_job, old.queue_agent as old_agent,
      old.alone as old_alone
    from (select * from taken union all select * from continued) started
    join sessions on sessions.tenant_id = started.tenant_id and sessions.id = started.session_id
    left join (
      select job, queue_agent, alone from before
      union all select job, queue_agent, false from oldest) old on true`.execute(tx);
  return rows[0];
}

/** True for a row whose job is in the queue of an agent that was removed. No worker fetches from it. */
const isOrphan = sql<boolean>`(queue_agent is not null and not exists (select from agents where name = queue_agent))`;

/** Moves jobs of removed agents to the queue of all workers, which report the missing agent to the users. */
export async function moveOrphans(db: Db, queue: JobQueue, limit: number): Promise<void> {
  const { rows } = await sql<{ tenant: string; session: string }>`
    select tenant_id as tenant, session_id as session from (
      select tenant_id, session_id, queue_agent from waiting_messages where rank is not null
      union all
      select tenant_id, session_id, queue_agent from running_turns where rank is not null and executor is null) queued
    where ${isOrphan} limit ${limit}`.execute(db);
  for (const ref of rows)
    await inTransaction(db, async (tx) => {
      if ((await tryLockSession(tx, ref)) !== null) await move(tx, queue, ref, isOrphan);
    });
}

/**
 * Queues the session's job for the agent that its next turn needs, if there is one and no process runs it.
 * @param isMisplaced true for a row whose job is in a wrong queue
 */
async function move(
  tx: Db,
  queue: JobQueue,
  ref: SessionRef,
  isMisplaced: RawBuilder<unknown>,
): Promise<void> {
  const of = sql`tenant_id = ${ref.tenant} and session_id = ${ref.session}`;
  const agent = queueAgent(sql.ref("agent"));
  const { rows } = await sql<QueuedRow & { old_job: string | null; old_agent: string | null }>`
    with next as (
      select id, job, queue_agent from waiting_messages
      where ${of} and body is not null and not exists (select from running_turns where ${of}) order by n limit 1),
    turn as (select job, queue_agent from running_turns where ${of}),
    moved_message as (
      update waiting_messages set job = ${newJobId()}::uuid, queue_agent = ${agent}, rank = coalesce(rank, ${nextRank(ref)})
      where ${of} and id = (select id from next) and ${isMisplaced}
      returning job, queue_agent, rank, owner, 0 as deaths, false as alone),
    moved_turn as (
      update running_turns set job = ${newJobId()}::uuid, queue_agent = ${agent}
      where ${of} and executor is null and job is not null and ${isMisplaced}
      returning job, queue_agent, rank, owner, deaths, alone)
    select moved.*, old.job as old_job, old.queue_agent as old_agent
    from (select * from moved_message union all select * from moved_turn) moved
    left join (select job, queue_agent from next union all select job, queue_agent from turn) old on true`.execute(
    tx,
  );
  for (const row of rows) {
    const { old_job: id, old_agent, alone = false } = row;
    if (id !== null) await queue.delete(tx, [{ id, agent: old_agent, alone }]);
    await queue.add(tx, toJob(ref, row));
  }
}

/** Ends a turn, and queues a job for the next message. */
export async function endTurn(tx: Db, queue: JobQueue, ref: SessionRef, turn: string): Promise<EndReceipt> {
  const of = sql`tenant_id = ${ref.tenant} and session_id = ${ref.session}`;
  const { rows } = await sql<
    QueuedRow & { old_job: string | null; old_agent: string | null; alone: boolean }
  >`
    with gone as (
      delete from running_turns where ${of} and turn = ${turn}
      returning case when executor is null then job end as old_job, queue_agent as old_agent, alone),
    next as (
      update waiting_messages set job = ${newJobId()}::uuid, rank = ${nextRank(ref)},
        queue_agent = ${queueAgent(sql.ref("waiting_messages.agent"))}
      where ${of} and exists (select from gone)
        and id = (select id from waiting_messages where ${of} and body is not null order by n limit 1)
      returning job, queue_agent, rank, owner)
    select gone.*, next.* from gone left join next on true`.execute(tx);
  const [row] = rows;
  if (row === undefined) return "over";
  const { old_job: id, old_agent: agent, alone } = row;
  if (id !== null) await queue.delete(tx, [{ id, agent, alone }]);
  if (row.job === null) return "ended";
  await queue.add(tx, toJob(ref, { ...row, alone: false }));
  return { queuedFor: row.queue_agent };
}

/** Clears the job of the oldest message, because the job of a retry replaces it. */
export async function replaceJob(tx: Db, queue: JobQueue, ref: SessionRef): Promise<void> {
  const queued = await ofSession(tx.selectFrom("waiting_messages"), ref)
    .select(["job as id", "queue_agent as agent"])
    .where("job", "is not", null)
    .execute();
  if (queued.length === 0) return;
  await ofSession(tx.updateTable("waiting_messages"), ref)
    .set({ job: null, rank: null })
    .where("job", "is not", null)
    .execute();
  await queue.delete(
    tx,
    queued.flatMap(({ id, agent }) => (id === null ? [] : [{ id, agent, alone: false }])),
  );
}
