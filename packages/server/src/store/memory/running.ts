/**
 * `memoryRunning` implements running turns in memory.
 *
 * Invariant: `begin` and `start` take the message in the same `tables.run`. Only `start` makes a process run a turn, and
 * it deletes the job, so a job row exists only for turns that no process runs.
 */
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import type { SessionRef } from "../../util/refs.ts";
import { DEATHS_BEFORE_ALONE } from "../ports/jobs.ts";
import type { RunningTurn, RunningTurns } from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkId, checkLimit, checkTime } from "../rules/arguments.ts";
import { agentOf } from "../rules/jobs.ts";
import { checkFence, checkNewTurn, checkSessions, checkStop } from "../rules/running.ts";
import { deleteDeadTurn, dropJob, queueJob, wakeTurn } from "./jobs.ts";
import { isExpired, newestEntry } from "./journal.ts";
import { ONLY, putRunning, RUNNING, type RunningRow, runningOf } from "./running-rows.ts";
import { refOf, requireSession, sessionRow, SESSIONS } from "./session-rows.ts";
import { type MemoryTables, type Rows } from "./tables.ts";
import { AGENTS } from "./tenants.ts";
import { forgetJob, nextWaiting, queueFor, queueNext, settle, waitingOf } from "./waiting.ts";

export function memoryRunning(tables: MemoryTables, env: Env): RunningTurns {
  return {
    begin: (ref, turn) =>
      tables.run((rows) => {
        const checked = checkNewTurn(turn);
        requireSession(rows, ref);
        if (runningOf(rows, ref) !== undefined) return null;
        if (checked.retries === null) return takeMessage(rows, env, ref, checked.turn, toTurn);
        // The retry comes before queued messages, so it replaces their job.
        const agent = agentOf(turn.options);
        const { id, rank } = queueJob(rows, env, ref, { agent });
        forgetJob(rows, ref);
        deleteDeadTurn(rows, ref, checked.retries);
        return toTurn(rows, putRunning(rows, { ...newRow(env, ref), ...checked, agent, job: id, rank }));
      }),
    get: (ref) =>
      tables.run((rows) => {
        const row = runningOf(rows, ref);
        return row === undefined ? null : toTurn(rows, row);
      }),
    start: (job, { executor, turn, agents }) =>
      tables.run((rows) => {
        checkId(executor, "executor");
        checkId(turn, "turn");
        if (sessionRow(rows, job) === undefined) return null;
        const before = runningOf(rows, job);
        const isMine = before?.executor === executor && before.job === job.id;
        dropJob(rows, job, job.id);
        if (before !== undefined && before.executor !== null && !isMine) return null;
        const needed = before ?? nextWaiting(rows, job);
        if (needed === null) return null;
        const { agent } = needed;
        if (agent !== null && !agents.includes(agent) && rows.get(AGENTS, "", agent) !== undefined) {
          move(rows, env, job, agent);
          return null;
        }
        const row = before ?? takeMessage(rows, env, job, turn, (_, taken) => taken);
        if (row === null) return null;
        if (row.job !== null) dropJob(rows, job, row.job);
        const alone = row.alone && row.deaths >= DEATHS_BEFORE_ALONE;
        const ours = { job: job.id, executor, alone, suspicion: row.deaths, isParked: false, wakeAt: null };
        return toTurn(rows, count(rows, { ...row, ...ours }));
      }),
    park: (job, turn, { wakeAt }) =>
      tables.run((rows) => {
        if (wakeAt !== null) checkTime(wakeAt, "wakeAt");
        const row = runningOf(rows, job);
        if (row?.turn !== turn || row.job !== job.id || row.executor === null) return false;
        const left = { job: null, executor: null, rank: null, isParked: true, wakeAt };
        const parked = putRunning(rows, { ...row, ...left });
        if (row.stop !== null) wakeTurn(rows, env, parked);
        return true;
      }),
    wake: (ref) =>
      tables.run((rows) => {
        const row = runningOf(rows, ref);
        if (row === undefined || !row.isParked || row.job !== null) return false;
        wakeTurn(rows, env, row);
        return true;
      }),
    attempt: (ref, turn) =>
      tables.run((rows) => {
        const row = runningOf(rows, ref);
        return row?.turn === turn ? toTurn(rows, count(rows, row)) : null;
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
        const stopped = putRunning(rows, { ...row, stop: { by, at: env.now() } });
        if (row.isParked && row.job === null) wakeTurn(rows, env, stopped);
        return { receipt: "stopping", turn: row.turn };
      }),
    end: (ref, turn, { epoch = Infinity } = {}) =>
      tables.run((rows) => {
        checkFence(ref, sessionRow(rows, ref)?.epoch ?? 0, epoch);
        const row = runningOf(rows, ref);
        if (row?.turn !== turn) return "over";
        if (row.job !== null) dropJob(rows, ref, row.job);
        rows.remove(RUNNING, ref, ONLY);
        const job = queueNext(rows, env, ref);
        return job === null ? "ended" : { queuedFor: job.agent };
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
          .all(SESSIONS)
          .map(refOf)
          .filter((ref) => runningOf(rows, ref) === undefined)
          .flatMap((ref) => {
            const [since] = waitingOf(rows, ref);
            return since === undefined || since.at > before ? [] : [{ ref, since }];
          })
          .toSorted((a, b) => a.since.at - b.since.at || a.since.n - b.since.n)
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map(({ ref }) => ref);
      }),
  };
}

function newRow(env: Env, { tenant, session }: SessionRef) {
  const unattempted = { attempts: 0, attemptsWithoutProgress: 0, journaled: 0, deaths: 0, stop: null };
  const unstarted = {
    executor: null,
    alone: false,
    suspicion: 0,
    isParked: false,
    wakeAt: null,
    message: null,
  };
  const used = { tokens: 0, micros: 0 };
  return { tenant, session, startedAt: env.now(), used, ...unattempted, ...unstarted };
}

/** Makes the oldest message the running turn. Its job becomes the turn's. */
function takeMessage<T>(
  rows: Rows,
  env: Env,
  ref: SessionRef,
  turn: string,
  then: (rows: Rows, row: RunningRow) => T,
): T | null {
  const next = nextWaiting(rows, ref);
  if (next === null) return null;
  settle(rows, ref, next.message.id);
  const job = { job: next.job?.id ?? null, rank: next.job?.rank ?? null };
  return then(rows, putRunning(rows, { ...newRow(env, ref), turn, retries: null, ...next, ...job }));
}

/** Counts an attempt. */
function count(rows: Rows, row: RunningRow): RunningRow {
  const journaled = newestEntry(rows, row, row.turn);
  const attemptsWithoutProgress = journaled > row.journaled ? 1 : row.attemptsWithoutProgress + 1;
  return putRunning(rows, { ...row, attempts: row.attempts + 1, attemptsWithoutProgress, journaled });
}

/** Queues the session's job for another agent. */
function move(rows: Rows, env: Env, ref: SessionRef, agent: string): void {
  const row = runningOf(rows, ref);
  if (row !== undefined) {
    const { id, rank } = queueJob(rows, env, ref, {
      agent,
      deaths: row.deaths,
      alone: row.alone,
      rank: row.rank,
    });
    putRunning(rows, { ...row, job: id, rank });
    return;
  }
  const [next] = waitingOf(rows, ref);
  if (next !== undefined) queueFor(rows, env, ref, next);
}

/** True if the process that made the last attempt died or left the turn, and no other has started it since. */
function isInterrupted(rows: Rows, row: RunningRow, now: number): boolean {
  if (row.executor === null) return row.attempts > 0 && !row.isParked;
  return isExpired(rows, row.executor, now);
}

function toTurn(rows: Rows, row: RunningRow): RunningTurn {
  const { user } = requireSession(rows, row);
  const { tenant, session, turn, message, retries, startedAt, stop, apiKey } = row;
  const { attempts, attemptsWithoutProgress, deaths } = row;
  const counts = { attempts, attemptsWithoutProgress, deaths };
  const limits = parseJson(row.usageLimits) as RunningTurn["usageLimits"];
  const caller = { apiKey, usageLimits: limits };
  const options = parseJson(row.options);
  return { tenant, session, turn, user, message, retries, options, startedAt, ...counts, stop, ...caller };
}

function parseJson(json: string | null): Json {
  return json === null ? null : (JSON.parse(json) as Json);
}

/** Removes the user's id from the message and from the stop request. */
export function clearRunningTurnUser(rows: Rows, ref: SessionRef, user: string): void {
  const row = rows.get(RUNNING, ref, ONLY);
  if (row === undefined) return;
  const message = row.message?.by === user ? { ...row.message, by: null } : row.message;
  const stop = row.stop?.by === user ? { ...row.stop, by: null } : row.stop;
  putRunning(rows, { ...row, message, stop });
}
