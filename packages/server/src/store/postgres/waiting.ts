/**
 * `postgresWaiting` implements queued messages on PostgreSQL.
 *
 * Invariant: every change locks the session's row. A taken message keeps its row without a body, so that a repeat is not
 * queued again. While no turn runs, the oldest queued message has the session's job.
 */
import { sql } from "kysely";
import type { UserMessage } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import { checkMessage, type NewMessage, type QueuedMessages, queuedMessageBody } from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import { agentOf } from "../rules/jobs.ts";
import { checkOptions, checkTurnCaller, type StoredTurnCaller } from "../rules/running.ts";
import type { Db } from "./database.ts";
import type { JobQueue } from "./job-queue.ts";
import { ago, inTransaction, lockSession, ofSession, ownerColumn, rowOf } from "./session-row.ts";
import { newJobId, nextRank, QUEUED_COLUMNS, queueAgent, queueNext, toJob } from "./turn-jobs.ts";

export function postgresWaiting(db: Db, queue: JobQueue): QueuedMessages {
  return {
    add: (ref, message) => inTransaction(db, (tx) => add(tx, queue, ref, message)),
    remove: (ref, id) =>
      inTransaction(db, async (tx) => {
        await lockSession(tx, ref);
        return remove(tx, queue, ref, id);
      }),
    async list(ref) {
      return (await waitingOf(db, ref).limit(MAX_BATCH).execute()).flatMap(queuedMessage);
    },
    take: (ref) =>
      inTransaction(db, async (tx) => {
        // Concurrent calls queue up here. Locking the message instead would give the second call nothing, or the wrong
        // message.
        await lockSession(tx, ref);
        const [message] = (await waitingOf(tx, ref).limit(1).execute()).flatMap(queuedMessage);
        if (message === undefined) return null;
        await remove(tx, queue, ref, message.id);
        return message;
      }),
    async prune({ olderThanMs, limit }) {
      const { numAffectedRows } = await sql`
        delete from waiting_messages where (tenant_id, session_id, id) in (
          select tenant_id, session_id, id from waiting_messages
          where body is null and added_at <= ${ago(checkDuration(olderThanMs, "olderThanMs"))}
          order by added_at limit ${checkLimit(limit, MAX_BATCH)} for update skip locked)`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}

async function add(tx: Db, queue: JobQueue, ref: SessionRef, message: NewMessage) {
  const { id, by } = checkMessage(message);
  const options = checkOptions(message.options);
  const agent = agentOf(message.options);
  // The number is assigned under the lock, so that numbers follow the order of commits. The next statement sees the
  // turns and messages of those who had the lock before.
  await lockSession(tx, ref);
  const { tenant, session } = ref;
  const isNext = sql<boolean>`(not exists (select from running_turns
      where tenant_id = ${tenant} and session_id = ${session})
    and not exists (select from waiting_messages
      where tenant_id = ${tenant} and session_id = ${session} and body is not null))`;
  const row = await tx
    .insertInto("waiting_messages")
    .values({
      ...rowOf(ref),
      id,
      body: JSON.stringify(queuedMessageBody(message)),
      by_user: by,
      options,
      ...callerColumns(checkTurnCaller(message)),
      ...ownerColumn(ref),
      agent,
      queue_agent: queueAgent(agent),
      job: sql<string | null>`case when ${isNext} then ${newJobId()}::uuid end`,
      rank: sql<number | null>`case when ${isNext} then ${nextRank(ref)} end`,
    })
    .onConflict((oc) => oc.columns(["tenant_id", "session_id", "id"]).doNothing())
    .returning(QUEUED_COLUMNS)
    .executeTakeFirst();
  if (row === undefined) return "already";
  if (row.job !== null) await queue.add(tx, toJob(ref, row));
  return "added";
}

export function callerColumns({ apiKey, usageLimits }: StoredTurnCaller) {
  return { key_id: apiKey, usage_limits: usageLimits };
}

function waitingOf(db: Db, ref: SessionRef) {
  return ofSession(db.selectFrom("waiting_messages"), ref)
    .select(["id", "body", "by_user", "added_at"])
    .where("body", "is not", null)
    .orderBy("n");
}

type MessageRow = Awaited<ReturnType<ReturnType<typeof waitingOf>["execute"]>>[number];

function queuedMessage(row: MessageRow): UserMessage[] {
  return row.body === null ? [] : [{ id: row.id, ...row.body, by: row.by_user, at: row.added_at }];
}

/** A row without a body is no longer queued. */
export const NOT_QUEUED = {
  body: null,
  by_user: null,
  options: null,
  usage_limits: null,
  job: null,
  rank: null,
};

async function remove(tx: Db, queue: JobQueue, ref: SessionRef, id: string): Promise<boolean> {
  const row = await tx
    .with("before", (qb) =>
      ofSession(qb.selectFrom("waiting_messages"), ref)
        .select(["tenant_id", "session_id", "id", "job", "queue_agent"])
        .where("id", "=", id)
        .where("body", "is not", null),
    )
    .updateTable("waiting_messages")
    .from("before")
    .set(NOT_QUEUED)
    .whereRef("waiting_messages.tenant_id", "=", "before.tenant_id")
    .whereRef("waiting_messages.session_id", "=", "before.session_id")
    .whereRef("waiting_messages.id", "=", "before.id")
    .returning(["before.job", "before.queue_agent"])
    .executeTakeFirst();
  if (row === undefined) return false;
  if (row.job === null) return true;
  await queue.delete(tx, [{ id: row.job, agent: row.queue_agent, alone: false }]);
  await queueNext(tx, queue, ref);
  return true;
}
