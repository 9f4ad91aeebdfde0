/**
 * `memoryTurnQueue` implements the queue of turns in memory. `queueTurn` and `queueNext` queue turns for the other
 * parts of the store, in their transactions.
 */
import {
  agentOf,
  checkCount,
  checkDuration,
  checkFence,
  checkId,
  checkLimit,
  checkRetry,
  checkTime,
  type DeadTurn,
  DEATHS_BEFORE_ALONE,
  type Env,
  epochStep,
  type HeldTurn,
  MAX_ALONE_WAIT_MS,
  MAX_BATCH,
  type SessionRef,
  type StartedTurn,
  type StartTurns,
  type TurnQueue,
} from "@turnstream/server/internal";
import { endLease, fenceOf, hasValidLease } from "./journal.ts";
import {
  changeQueue,
  putRunning,
  QUEUE,
  queueRow,
  type QueueRow,
  removeRunning,
  RUNNING,
  type RunningRow,
  runningOf,
  toTurn,
  settle,
  waitingOf,
} from "./running-rows.ts";
import { changeSession, compareText, requireSession, sessionRow } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, sessionTable } from "./tables.ts";
import { AGENTS } from "./tenants.ts";

const DEAD_TURNS = sessionTable<Omit<DeadTurn, "user">>("dead_turns");

export function memoryTurnQueue(tables: MemoryTables, env: Env): TurnQueue {
  return createPart<TurnQueue>(tables, {
    start: (rows, request) => start(rows, env, request),
    again(rows, held, { seen = 0, isCounted = true } = {}) {
      checkCount(seen, "seen");
      const row = runningOf(rows, held);
      if (row === undefined || !isHeld(rows, held)) return null;
      const session = requireSession(rows, held);
      const epoch = Math.max(session.epoch, seen) + epochStep(env);
      changeSession(rows, session, { epoch });
      held.epoch = epoch;
      return toTurn(rows, isCounted ? countAttempt(rows, row) : row);
    },
    held: (rows, executor) =>
      rows
        .all(QUEUE)
        .filter((row) => row.executor === executor)
        .map(({ tenant, session }) => {
          return { tenant, session, executor, epoch: requireSession(rows, { tenant, session }).epoch };
        }),
    release(rows, turns, { delayMs = 0 } = {}) {
      checkDuration(delayMs, "delayMs");
      for (const held of turns)
        if (isHeld(rows, held)) returnTurn(rows, queueRow(rows, held), env.now(), delayMs);
    },
    recover(rows, executor, { limit }) {
      const left = rows
        .all(QUEUE)
        .filter((row) => row.executor === executor)
        .slice(0, checkLimit(limit, MAX_BATCH));
      for (const row of left) {
        const deaths = row.deaths + 1;
        // The first death costs no time: usually the process died for another reason.
        const delayMs = deaths <= 1 ? 0 : 1_000 * 2 ** Math.min(deaths - 2, 6);
        returnTurn(rows, { ...row, deaths }, env.now(), delayMs);
      }
      return left.length;
    },
    leave(rows, executor) {
      if (!endLease(rows, executor)) return false;
      for (const row of rows.all(QUEUE)) if (row.executor === executor) returnTurn(rows, row, env.now(), 0);
      return true;
    },
    park(rows, held, turn, { wakeAt }) {
      if (wakeAt !== null) checkTime(wakeAt, "wakeAt");
      const row = runningOf(rows, held);
      if (row?.turn !== turn || !isHeld(rows, held)) return false;
      changeQueue(rows, queueRow(rows, held), { executor: null, rank: null });
      const attemptsWithoutProgress = Math.max(0, row.attemptsWithoutProgress - 1);
      putRunning(rows, { ...row, isParked: true, wakeAt, attemptsWithoutProgress });
      if (row.stop !== null) wake(rows, env, held);
      return true;
    },
    wake: (rows, ref) => wake(rows, env, ref),
    wakeDue(rows, { limit }) {
      const now = env.now();
      const due = rows
        .all(RUNNING)
        .filter(({ wakeAt }) => wakeAt !== null && wakeAt <= now)
        .toSorted((a, b) => (a.wakeAt ?? 0) - (b.wakeAt ?? 0))
        .slice(0, checkLimit(limit, MAX_BATCH));
      return due.filter((row) => wake(rows, env, row)).length;
    },
    retry(rows, ref, given) {
      const checked = checkRetry(given);
      requireSession(rows, ref);
      const row = queueRow(rows, ref);
      if (row.turn !== null) return null;
      const queued = queueTurn(rows, env, row, agentOf(given.options));
      changeQueue(rows, queued, { turn: checked.turn, nextMessage: null });
      rows.remove(DEAD_TURNS, ref, checked.retries);
      return toTurn(rows, putRunning(rows, { ...newTurn(env, ref), message: null, ...checked }));
    },
    end(rows, ref, turn, { epoch = Infinity, executor = null } = {}) {
      checkId(turn, "turn");
      const running = runningOf(rows, ref);
      if (running === undefined) return "over";
      checkFence(ref, fenceOf(rows, ref), { epoch, executor });
      if (running.turn !== turn) return "over";
      removeRunning(rows, ref);
      const next = queueNext(rows, env, ref, null);
      return next.nextMessage === null ? "ended" : { queuedFor: next.agent };
    },
    bury(rows, ref, turn) {
      const row = sessionRow(rows, ref) === undefined ? undefined : queueRow(rows, ref);
      if (row?.turn !== turn) return;
      const { tenant, session, agent, deaths } = row;
      rows.put(DEAD_TURNS, ref, turn, { tenant, session, turn, agent, deaths, at: env.now() });
    },
    dead: (rows, { limit }) =>
      rows
        .all(DEAD_TURNS)
        .toSorted((a, b) => b.at - a.at || compareText(a.turn, b.turn))
        .slice(0, checkLimit(limit, MAX_BATCH))
        .map((row) => ({ ...row, user: requireSession(rows, row).user })),
  });
}

function start(
  rows: Rows,
  env: Env,
  { executor, agents, limit, skipTenants = [], isIdle }: StartTurns,
): StartedTurn[] {
  const now = env.now();
  if (!hasValidLease(rows, checkId(executor, "executor"), now)) return [];
  const found = rows
    .all(QUEUE)
    .filter((row) => row.executor === null && row.rank !== null && row.dueAt <= now)
    .filter(({ agent }) => agent === null || agents.includes(agent) || !isRegistered(rows, agent))
    .filter(({ tenant }) => !skipTenants.includes(tenant))
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || compareText(a.session, b.session));
  const bar = Math.max(DEATHS_BEFORE_ALONE, ...rows.all(QUEUE).map(({ deaths }) => deaths));
  const suspect = isIdle ? found.findLast(({ deaths }) => deaths >= bar) : undefined;
  const others = found
    .filter(({ deaths, queuedAt }) => deaths < bar || (!isIdle && queuedAt + MAX_ALONE_WAIT_MS <= now))
    .slice(0, checkLimit(limit, MAX_BATCH));
  const chosen = suspect === undefined ? others : [suspect];
  return chosen.map((row) => {
    const { tenant, session } = row;
    const turn = row.turn ?? env.id();
    changeQueue(rows, row, { executor, turn, nextMessage: null, dueAt: 0 });
    const there = row.turn === null ? takeMessage(rows, env, row, turn) : runningOf(rows, row);
    if (there === undefined) throw new Error(`session ${session} has no turn to start`);
    const at = requireSession(rows, row);
    const { epoch } = changeSession(rows, at, { epoch: at.epoch + epochStep(env) });
    const started = countAttempt(rows, { ...there, isParked: false, wakeAt: null });
    return {
      held: { tenant, session, executor, epoch },
      row: toTurn(rows, started),
      isAlone: suspect !== undefined,
    };
  });
}

function isRegistered(rows: Rows, agent: string): boolean {
  return rows.get(AGENTS, "", agent) !== undefined;
}

function isHeld(rows: Rows, { executor, epoch, ...ref }: HeldTurn): boolean {
  return queueRow(rows, ref).executor === executor && sessionRow(rows, ref)?.epoch === epoch;
}

function returnTurn(rows: Rows, row: QueueRow, now: number, delayMs: number): void {
  changeQueue(rows, row, { executor: null, queuedAt: now, dueAt: now + delayMs });
}

/** Makes the oldest message the running turn. */
function takeMessage(rows: Rows, env: Env, ref: SessionRef, turn: string): RunningRow | undefined {
  const [next] = waitingOf(rows, ref);
  if (next === undefined) return undefined;
  settle(rows, ref, next.message.id);
  const { message, options, apiKey, usageLimits } = next;
  return { ...newTurn(env, ref), turn, retries: null, message, options, apiKey, usageLimits };
}

function newTurn(env: Env, { tenant, session }: SessionRef) {
  const unattempted = { attempts: 0, attemptsWithoutProgress: 0, stop: null };
  const used = { tokens: 0, micros: 0 };
  return { tenant, session, startedAt: env.now(), used, ...unattempted, isParked: false, wakeAt: null };
}

function countAttempt(rows: Rows, row: RunningRow): RunningRow {
  const { attempts, attemptsWithoutProgress } = row;
  const next = { attempts: attempts + 1, attemptsWithoutProgress: attemptsWithoutProgress + 1 };
  return putRunning(rows, { ...row, ...next });
}

/** Queues the turn of a session if it waits for a user. */
export function wake(rows: Rows, env: Env, ref: SessionRef): boolean {
  const [queue, running] = [queueRow(rows, ref), runningOf(rows, ref)];
  if (running === undefined || queue.executor !== null || queue.rank !== null) return false;
  queueTurn(rows, env, queue, queue.agent);
  putRunning(rows, { ...running, wakeAt: null });
  return true;
}

/** Makes the turn of a session startable at once, with a new rank unless it has one. */
function queueTurn(rows: Rows, env: Env, row: QueueRow, agent: string | null): QueueRow {
  const rank = row.rank ?? nextRank(rows, row);
  return changeQueue(rows, row, { agent, rank, queuedAt: env.now(), dueAt: 0 });
}

/** Queues the turn of the oldest message, or none if no message waits. @param rank the rank that the row keeps */
export function queueNext(rows: Rows, env: Env, ref: SessionRef, rank: number | null): QueueRow {
  const [next] = waitingOf(rows, ref);
  const idle = { turn: null, executor: null, deaths: 0, rank, nextMessage: next?.n ?? null };
  const row = changeQueue(rows, queueRow(rows, ref), idle);
  return next === undefined
    ? changeQueue(rows, row, { agent: null, rank: null })
    : queueTurn(rows, env, row, next.agent);
}

/**
 * Tenants take turns, and so do the users of a tenant: the next turn of a user comes one round of the tenant's users
 * after their last one. A tenant without turns starts at the rank that is being started now. `next_rank` in PostgreSQL
 * has the same rule.
 */
function nextRank(rows: Rows, { tenant, session }: SessionRef): number {
  const ranked = rows.all(QUEUE).flatMap((row) => (row.rank === null ? [] : [{ ...row, rank: row.rank }]));
  const userOf = (row: SessionRef): string => requireSession(rows, row).user;
  const user = userOf({ tenant, session });
  const ofTenant = ranked.filter((row) => row.tenant === tenant);
  const queuedUsers = new Set(ofTenant.filter(({ executor }) => executor === null).map(userOf));
  const started = ranked.filter(({ executor }) => executor !== null).map(({ rank }) => rank);
  const own = ofTenant.filter((row) => userOf(row) === user).map(({ rank }) => rank);
  const first = Math.max(0, ...started) + (queuedUsers.has(user) ? 0 : queuedUsers.size);
  return Math.max(first, Math.max(...own) + Math.max(queuedUsers.size, 1));
}
