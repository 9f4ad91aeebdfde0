/** `memoryWaiting` implements queued messages in memory. */
import {
  agentOf,
  checkDuration,
  checkLimit,
  checkMessage,
  checkOptions,
  checkTurnCaller,
  type Env,
  MAX_BATCH,
  queuedMessageBody,
  type QueuedMessages,
  type SessionRef,
} from "@turnstream/server/internal";
import { queueRow } from "./running-rows.ts";
import { requireSession } from "./session-rows.ts";
import { type MemoryTables, type Rows } from "./tables.ts";
import { queueNext } from "./turn-queue.ts";
import { settle, WAITING, waitingOf } from "./waiting-rows.ts";

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
