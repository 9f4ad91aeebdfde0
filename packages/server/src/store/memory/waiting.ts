/**
 * `memoryWaiting` implements queued messages in memory. `waitingOf` and `settle` are for the queue of turns.
 *
 * Invariant: a taken message keeps its row without a body, so that a repeat is not queued again.
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
import { agentOf } from "../rules/turn-queue.ts";
import { checkOptions, checkTurnCaller, type StoredTurnCaller } from "../rules/running.ts";
import { queueRow } from "./running-rows.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, sessionTable } from "./tables.ts";
import { queueNext } from "./turn-queue.ts";

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
        const row = { ref, id, n, body, by, at: env.now(), options, ...caller, agent };
        rows.put(WAITING, ref, id, row);
        const queue = queueRow(rows, ref);
        if (queue.turn === null && queue.nextMessage === null) queueNext(rows, env, ref, null);
        return "added";
      }),
    remove: (ref, id) =>
      tables.run((rows) => {
        requireSession(rows, ref);
        return remove(rows, env, ref, id);
      }),
    list: (ref) =>
      tables.run((rows) =>
        waitingOf(rows, ref)
          .slice(0, MAX_BATCH)
          .map(({ message }) => message),
      ),
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

function remove(rows: Rows, env: Env, ref: SessionRef, id: string): boolean {
  const row = rows.get(WAITING, ref, id);
  if (!settle(rows, ref, id)) return false;
  const { nextMessage, rank } = queueRow(rows, ref);
  if (nextMessage === row?.n) queueNext(rows, env, ref, rank);
  return true;
}

/** Returns the queued messages of a session, the oldest first. */
export function waitingOf(rows: Rows, ref: SessionRef): (WaitingRow & { readonly message: UserMessage })[] {
  if (sessionRow(rows, ref) === undefined) return [];
  return rows
    .of(WAITING, ref)
    .filter(({ body }) => body !== null)
    .toSorted((a, b) => a.n - b.n)
    .map((row) => ({ ...row, message: messageOf(row) }));
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
  rows.put(WAITING, ref, id, { ...row, body: null, by: null, options: null, usageLimits: null });
  return true;
}
