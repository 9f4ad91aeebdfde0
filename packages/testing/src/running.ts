/** `memoryRunning` and `memoryWaiting` implement reads and stops of running turns, and queued messages, in memory. */
import {
  agentOf,
  checkDuration,
  checkLimit,
  checkMessage,
  checkOptions,
  checkSessions,
  checkStop,
  checkTurnCaller,
  type Env,
  MAX_BATCH,
  queuedMessageBody,
  type QueuedMessages,
  type RunningTurns,
  type SessionRef,
} from "@turnstream/server/internal";
import { isExpired } from "./journal.ts";
import {
  putRunning,
  QUEUE,
  queueRow,
  RUNNING,
  type RunningRow,
  runningOf,
  settle,
  toTurn,
  WAITING,
  waitingOf,
} from "./running-rows.ts";
import { compareText, requireSession } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows } from "./tables.ts";
import { queueNext, wake } from "./turn-queue.ts";

export function memoryRunning(tables: MemoryTables, env: Env): RunningTurns {
  return createPart<RunningTurns>(tables, {
    get(rows, ref) {
      const row = runningOf(rows, ref);
      return row === undefined ? null : toTurn(rows, row);
    },
    forgive(rows, ref, { turn, attempts }) {
      const row = runningOf(rows, ref);
      if (row?.turn === turn && row.attempts === attempts && row.attemptsWithoutProgress > 0)
        putRunning(rows, { ...row, attemptsWithoutProgress: row.attemptsWithoutProgress - 1 });
    },
    requestStop(rows, ref, stop) {
      const { turn, by } = checkStop(stop);
      const row = runningOf(rows, ref);
      if (row === undefined || (turn !== null && row.turn !== turn)) return { receipt: "over", turn: null };
      if (row.stop !== null) return { receipt: "already", turn: row.turn };
      putRunning(rows, { ...row, stop: { by, at: env.now() } });
      wake(rows, env, ref);
      return { receipt: "stopping", turn: row.turn };
    },
    stopping: (rows, { limit }) =>
      rows
        .all(RUNNING)
        .filter(({ stop }) => stop !== null)
        .toSorted((a, b) => (a.stop?.at ?? 0) - (b.stop?.at ?? 0))
        .slice(0, checkLimit(limit, MAX_BATCH))
        .map((row) => toTurn(rows, row)),
    interrupted(rows, sessions) {
      checkSessions(sessions);
      return sessions
        .flatMap((ref) => runningOf(rows, ref) ?? [])
        .filter((row) => isInterrupted(rows, row, env.now()))
        .map(({ tenant, session, turn }) => ({ tenant, session, turn }));
    },
    startable(rows, { olderThanMs, limit }) {
      const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
      return rows
        .all(QUEUE)
        .filter(({ turn, rank, queuedAt }) => turn === null && rank !== null && queuedAt <= before)
        .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || compareText(a.session, b.session))
        .slice(0, checkLimit(limit, MAX_BATCH))
        .map(({ tenant, session }) => ({ tenant, session }));
    },
  });
}

/** True if the process that made the last attempt died or left the turn, and no other has started it since. */
function isInterrupted(rows: Rows, row: RunningRow, now: number): boolean {
  const { executor } = queueRow(rows, row);
  if (executor === null) return row.attempts > 0 && !row.isParked;
  return isExpired(rows, executor, now);
}

export function memoryWaiting(tables: MemoryTables, env: Env): QueuedMessages {
  return createPart<QueuedMessages>(tables, {
    add(rows, ref, message) {
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
    },
    remove(rows, ref, id) {
      requireSession(rows, ref);
      return remove(rows, env, ref, id);
    },
    list: (rows, ref) =>
      waitingOf(rows, ref)
        .slice(0, MAX_BATCH)
        .map(({ message }) => message),
    prune: () => 0,
  });
}

function remove(rows: Rows, env: Env, ref: SessionRef, id: string): boolean {
  const row = rows.get(WAITING, ref, id);
  if (!settle(rows, ref, id)) return false;
  const { nextMessage, rank } = queueRow(rows, ref);
  if (nextMessage === row?.n) queueNext(rows, env, ref, rank);
  return true;
}
