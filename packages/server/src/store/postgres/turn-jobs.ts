/**
 * `queueNext`, `queueParked` and `dropJobsOf` queue and delete the jobs of sessions, for the other sub-ports, in their
 * transactions.
 *
 * Invariant: the caller has locked the session with `lockSession`, or erases it. So a session has at most one job: that
 * of its running turn if it has one, otherwise that of its oldest queued message.
 */
import { randomUUID } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { SessionRef } from "../../util/refs.ts";
import type { Db } from "./database.ts";
import type { JobQueue, QueuedJob } from "./job-queue.ts";
import { ofSession } from "./session-row.ts";

/** Turns of an unknown agent are in the queue of all workers: any worker can report that to the user. */
export function queueAgent(agent: RawBuilder<unknown> | string | null) {
  return sql<string | null>`(select name from agents where name = ${agent}::text)`;
}

function ownerOf({ tenant, session }: SessionRef) {
  return sql<string>`(select user_id from sessions where tenant_id = ${tenant} and id = ${session})`;
}

export function nextRank(ref: SessionRef) {
  return sql<number>`next_rank(${ref.tenant}, ${ownerOf(ref)})`;
}

/** What a statement that queues a job returns. */
export interface QueuedRow {
  readonly job: string | null;
  readonly queue_agent: string | null;
  readonly rank: number | null;
  readonly owner: string;
  readonly deaths?: number;
  readonly alone?: boolean;
}

export const QUEUED_COLUMNS = ["job", "queue_agent", "rank", "owner"] as const;

export function newJobId(): string {
  return randomUUID();
}

export function toJob({ tenant, session }: SessionRef, row: QueuedRow): QueuedJob[] {
  const { job, queue_agent: agent, rank, owner, deaths = 0, alone = false } = row;
  return job === null
    ? []
    : [{ id: job, tenant, session, user: owner, agent, deaths, alone, rank: rank ?? 0 }];
}

/** Queues a job for the oldest message, unless it has one or a turn runs. */
export async function queueNext(tx: Db, queue: JobQueue, ref: SessionRef): Promise<void> {
  const { tenant, session } = ref;
  const { rows } = await sql<QueuedRow>`
    update waiting_messages set job = ${newJobId()}, rank = ${nextRank(ref)},
      queue_agent = ${queueAgent(sql.ref("waiting_messages.agent"))}
    where tenant_id = ${tenant} and session_id = ${session} and job is null
      and id = (select id from waiting_messages
        where tenant_id = ${tenant} and session_id = ${session} and body is not null order by n limit 1)
      and not exists (select from running_turns where tenant_id = ${tenant} and session_id = ${session})
    returning job, queue_agent, rank, owner`.execute(tx);
  for (const row of rows) await queue.add(tx, toJob(ref, row));
}

/** Queues a job for a parked turn. Returns false if it isn't parked, or has a job already. */
export async function queueParked(tx: Db, queue: JobQueue, ref: SessionRef): Promise<boolean> {
  const row = await ofSession(tx.updateTable("running_turns"), ref)
    .set({
      job: newJobId(),
      rank: nextRank(ref),
      wake_at: null,
      queue_agent: queueAgent(sql.ref("running_turns.agent")),
    })
    .where("parked_at", "is not", null)
    .where("job", "is", null)
    .returning([...QUEUED_COLUMNS, "deaths", "alone"])
    .executeTakeFirst();
  if (row === undefined) return false;
  await queue.add(tx, toJob(ref, row));
  return true;
}

/** Deletes the queued jobs of sessions that are erased. */
export async function dropJobsOf(
  tx: Db,
  queue: JobQueue,
  tenant: string,
  sessions: readonly string[],
): Promise<void> {
  // `limit` keeps the planner from reading whole tables: every row is found by its key.
  const { rows } = await sql<{ id: string; agent: string | null; alone: boolean }>`
    select found.* from unnest(${sessions}::text[]) named(session)
    cross join lateral (
      (select job as id, queue_agent as agent, false as alone from waiting_messages
        where tenant_id = ${tenant} and session_id = named.session and job is not null limit 1)
      union all
      (select job, queue_agent, alone from running_turns
        where tenant_id = ${tenant} and session_id = named.session and job is not null and executor is null limit 1)
    ) found`.execute(tx);
  if (rows.length > 0) await queue.delete(tx, rows);
}
