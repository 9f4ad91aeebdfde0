/** `memoryRunning` implements reads of running turns and requests to stop in memory. */
import {
  checkDuration,
  checkLimit,
  checkSessions,
  checkStop,
  type Env,
  MAX_BATCH,
  type RunningTurns,
  type SessionRef,
} from "@turnstream/server/internal";
import { isExpired } from "./journal.ts";
import { putRunning, QUEUE, queueRow, RUNNING, type RunningRow, runningOf, toTurn } from "./running-rows.ts";
import { compareText } from "./session-rows.ts";
import { type MemoryTables, type Rows } from "./tables.ts";
import { wake } from "./turn-queue.ts";

export function memoryRunning(tables: MemoryTables, env: Env): RunningTurns {
  return {
    get: (ref) =>
      tables.run((rows) => {
        const row = runningOf(rows, ref);
        return row === undefined ? null : toTurn(rows, row);
      }),
    forgive: (ref, { turn, attempts }) =>
      tables.run((rows) => {
        const row = runningOf(rows, ref);
        if (row?.turn === turn && row.attempts === attempts && row.attemptsWithoutProgress > 0)
          putRunning(rows, { ...row, attemptsWithoutProgress: row.attemptsWithoutProgress - 1 });
      }),
    requestStop: (ref, stop) =>
      tables.run((rows) => {
        const { turn, by } = checkStop(stop);
        const row = runningOf(rows, ref);
        if (row === undefined || (turn !== null && row.turn !== turn)) return { receipt: "over", turn: null };
        if (row.stop !== null) return { receipt: "already", turn: row.turn };
        putRunning(rows, { ...row, stop: { by, at: env.now() } });
        wake(rows, env, ref);
        return { receipt: "stopping", turn: row.turn };
      }),
    stopping: ({ limit }) =>
      tables.run((rows) =>
        rows
          .all(RUNNING)
          .filter(({ stop }) => stop !== null)
          .toSorted((a, b) => (a.stop?.at ?? 0) - (b.stop?.at ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((row) => toTurn(rows, row)),
      ),
    interrupted: (sessions) =>
      tables.run((rows) => {
        checkSessions(sessions);
        return sessions
          .flatMap((ref) => runningOf(rows, ref) ?? [])
          .filter((row) => isInterrupted(rows, row, env.now()))
          .map(({ tenant, session, turn }) => ({ tenant, session, turn }));
      }),
    startable: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        return rows
          .all(QUEUE)
          .filter(({ turn, rank, queuedAt }) => turn === null && rank !== null && queuedAt <= before)
          .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || compareText(a.session, b.session))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map(({ tenant, session }) => ({ tenant, session }));
      }),
  };
}

/** True if the process that made the last attempt died or left the turn, and no other has started it since. */
function isInterrupted(rows: Rows, row: RunningRow, now: number): boolean {
  const { executor } = queueRow(rows, row);
  if (executor === null) return row.attempts > 0 && !row.isParked;
  return isExpired(rows, executor, now);
}

/** Removes the user's id from the message and from the stop request. */
export function clearRunningTurnUser(rows: Rows, ref: SessionRef, user: string): void {
  const row = runningOf(rows, ref);
  if (row === undefined) return;
  const message = row.message?.by === user ? { ...row.message, by: null } : row.message;
  const stop = row.stop?.by === user ? { ...row.stop, by: null } : row.stop;
  putRunning(rows, { ...row, message, stop });
}
