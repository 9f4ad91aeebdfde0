/**
 * `memoryWaiting` implements queued messages in memory. `takeWaiting` and `queueNext` are for running turns.
 *
 * Invariant: a taken message keeps its row without a body, so that a repeat is not queued again. While no turn runs, the
 * oldest queued message has the session's job.
 */
import type { UserMessage } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import type { SessionRef } from "../../util/refs.ts";
import {
  checkMessage,
  type QueuedMessages,
  queuedMessageBody,
  type QueuedMessageBody,
} from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import { agentOf } from "../rules/jobs.ts";
import { checkOptions, checkTurnCaller, type StoredTurnCaller } from "../rules/running.ts";
import { dropJob, type JobRow, queueJob } from "./jobs.ts";
import { runningOf } from "./running-rows.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, sessionTable } from "./tables.ts";

/** A queued message. Without a body it is no longer queued. */
interface WaitingRow extends StoredTurnCaller {
  readonly ref: SessionRef;
  readonly id: string;
  readonly n: number;
  readonly body: string | null;
  readonly by: string | null;
  readonly at: number;
  /** As JSON. */
  readonly options: string | null;
  readonly agent: string | null;
  /** The job that was queued for it, and its rank. */
  readonly job: { readonly id: string; readonly rank: number } | null;
}

export const WAITING = sessionTable<WaitingRow>("waiting_messages");

export function memoryWaiting(tables: MemoryTables, env: Env): QueuedMessages {
  return {
    add: (ref, message) =>
      tables.run((rows) => {
        const { id, by } = checkMessage(message);
        const options = checkOptions(message.options);
        requireSession(rows, ref);
        if (rows.get(WAITING, ref, id) !== undefined) return "already";
        const body = JSON.stringify(queuedMessageBody(message));
        const n = rows.next("waiting");
        const [caller, agent] = [checkTurnCaller(message), agentOf(message.options)];
        const row = { ref, id, n, body, by, at: env.now(), options, ...caller, agent, job: null };
        rows.put(WAITING, ref, id, row);
        queueNext(rows, env, ref);
        return "added";
      }),
    remove: (ref, id) =>
      tables.run((rows) => {
        requireSession(rows, ref);
        return remove(rows, env, ref, id);
      }),
    list: (ref) => tables.run((rows) => waitingOf(rows, ref).slice(0, MAX_BATCH).map(messageOf)),
    take: (ref) =>
      tables.run((rows) => {
        requireSession(rows, ref);
        const [row] = waitingOf(rows, ref);
        if (row === undefined) return null;
        remove(rows, env, ref, row.id);
        return messageOf(row);
      }),
    prune: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        const old = rows
          .all(WAITING)
          .filter(({ body, at }) => body === null && at <= before)
          .toSorted((a, b) => a.at - b.at)
          .slice(0, checkLimit(limit, MAX_BATCH));
        for (const { ref, id } of old) rows.remove(WAITING, ref, id);
        return old.length;
      }),
  };
}

/** Queues a job for the oldest message, unless it has one or a turn runs. Returns the job, or null. */
export function queueNext(rows: Rows, env: Env, ref: SessionRef): JobRow | null {
  const [next] = waitingOf(rows, ref);
  if (next === undefined || next.job !== null || runningOf(rows, ref) !== undefined) return null;
  return queueFor(rows, env, ref, next);
}

/** Queues a job for a message, and replaces the job of the session. */
export function queueFor(rows: Rows, env: Env, ref: SessionRef, next: WaitingRow): JobRow {
  const job = queueJob(rows, env, ref, { agent: next.agent });
  rows.put(WAITING, ref, next.id, { ...next, job: { id: job.id, rank: job.rank } });
  return job;
}

/** Another job replaces the one of the oldest message. */
export function forgetJob(rows: Rows, ref: SessionRef): void {
  for (const row of waitingOf(rows, ref))
    if (row.job !== null) rows.put(WAITING, ref, row.id, { ...row, job: null });
}

/** Returns the oldest message with its options and limits as JSON. */
export function nextWaiting(rows: Rows, ref: SessionRef) {
  const [row] = waitingOf(rows, ref);
  if (row === undefined) return null;
  const { options, apiKey, usageLimits, agent, job } = row;
  return { message: messageOf(row), options, apiKey, usageLimits, agent, job };
}

function remove(rows: Rows, env: Env, ref: SessionRef, id: string): boolean {
  const row = rows.get(WAITING, ref, id);
  if (!settle(rows, ref, id)) return false;
  if (row?.job !== undefined && row.job !== null) dropJob(rows, ref, row.job.id);
  queueNext(rows, env, ref);
  return true;
}

export function waitingOf(rows: Rows, ref: SessionRef): WaitingRow[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows
    .of(WAITING, ref)
    .filter(({ body }) => body !== null)
    .toSorted((a, b) => a.n - b.n);
}

function messageOf({ id, body, by, at }: WaitingRow): UserMessage {
  return { id, ...(JSON.parse(body ?? "{}") as QueuedMessageBody), by, at };
}

/** Removes the sender's id. */
export function clearMessageAuthor(rows: Rows, ref: SessionRef, user: string): void {
  for (const row of rows.of(WAITING, ref))
    if (row.by === user) rows.put(WAITING, ref, row.id, { ...row, by: null });
}

/** Takes the message out of the queue. Returns false if it is not queued. */
export function settle(rows: Rows, ref: SessionRef, id: string): boolean {
  const row = rows.get(WAITING, ref, id);
  if (row === undefined || row.body === null) return false;
  rows.put(WAITING, ref, id, { ...row, body: null, by: null, options: null, usageLimits: null, job: null });
  return true;
}
