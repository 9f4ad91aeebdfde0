/**
 * `memoryJobs` implements the job queue in memory. `queueJob` and `dropJob` queue and delete jobs for the other
 * sub-ports, in their transactions.
 *
 * Invariant: a session has at most one job row. It exists while the job is queued, or fetched and not started.
 */
import type { Env } from "../../util/env.ts";
import { type SessionRef, sessionKey } from "../../util/refs.ts";
import type { DeadTurn, Jobs, TurnJob } from "../ports/jobs.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import { HEARTBEAT_SECONDS, mustRunAlone, rankOf, recoveryDelayMs, suspicionOf } from "../rules/jobs.ts";
import { ONLY, putRunning, RUNNING, type RunningRow } from "./running-rows.ts";
import { compareText, requireSession, sessionRow } from "./session-rows.ts";
import { AGENTS } from "./tenants.ts";
import { type MemoryTables, type Rows, sessionTable } from "./tables.ts";

export interface JobRow extends TurnJob {
  readonly n: number;
  readonly rank: number;
  /** Not to be fetched before. */
  readonly after: number;
  /** The time of the last heartbeat; null while the job is queued. */
  readonly heartbeatAt: number | null;
}

const JOBS = sessionTable<JobRow>("jobs");
const DEAD_TURNS = sessionTable<Omit<DeadTurn, "user">>("dead_turns");

export interface NewJob {
  readonly agent: string | null;
  readonly deaths?: number;
  readonly alone?: boolean;
  readonly delayMs?: number;
  /** Keeps the rank of an earlier job of the turn. @default a new one */
  readonly rank?: number | null;
}

/** Replaces the session's job, if it has one. */
export function queueJob(rows: Rows, env: Env, ref: SessionRef, job: NewJob): JobRow {
  const { tenant, session } = ref;
  const { user } = requireSession(rows, ref);
  rows.remove(JOBS, ref, ONLY);
  const rank = job.rank ?? nextRank(rows, tenant, user);
  const n = rows.next("jobs");
  const after = env.now() + (job.delayMs ?? 0);
  const { deaths = 0, alone = false } = job;
  const agent = queueAgent(rows, job.agent);
  const fetchable = { rank, n, after, heartbeatAt: null };
  const row = { id: `job_${n}`, tenant, session, user, agent, deaths, alone, ...fetchable };
  rows.put(JOBS, ref, ONLY, row);
  return row;
}

/** Any worker may fetch a turn of an unknown agent: it reports that to the user. */
function queueAgent(rows: Rows, agent: string | null): string | null {
  return agent !== null && rows.get(AGENTS, "", agent) === undefined ? null : agent;
}

export function dropJob(rows: Rows, ref: SessionRef, id: string): boolean {
  return rows.get(JOBS, ref, ONLY)?.id === id && rows.remove(JOBS, ref, ONLY);
}

export function deleteDeadTurn(rows: Rows, ref: SessionRef, turn: string): void {
  rows.remove(DEAD_TURNS, ref, turn);
}

function nextRank(rows: Rows, tenant: string, user: string): number {
  const running = rows.all(RUNNING).filter(({ executor }) => executor !== null);
  const queued = rows.all(JOBS).filter((job) => job.tenant === tenant);
  const users = new Set(queued.map((job) => job.user));
  const mine = [
    ...queued.filter((job) => job.user === user),
    ...running.filter((row) => row.tenant === tenant && requireSession(rows, row).user === user),
  ].map(({ rank }) => rank ?? 0);
  const started = Math.max(0, ...running.map(({ rank }) => rank ?? 0));
  const last = mine.length === 0 ? null : Math.max(...mine);
  return rankOf({ started, users: users.size, isQueued: users.has(user), last });
}

export function memoryJobs(tables: MemoryTables, env: Env): Jobs {
  return {
    fetch: ({ agents, limit, skipTenants = [], alone }) =>
      tables.run((rows) => {
        const most = alone ? 1 : checkLimit(limit, MAX_BATCH);
        const now = env.now();
        const found = rows
          .all(JOBS)
          .filter((row) => isFree(row, now))
          .map((row) => ({ ...row, agent: queueAgent(rows, row.agent) }))
          .filter((row) => agents.includes(row.agent))
          .filter((row) => !skipTenants.includes(row.tenant))
          .filter((row) => row.alone === alone)
          .toSorted((a, b) => a.rank - b.rank || a.n - b.n)
          .slice(0, most);
        for (const row of found) rows.put(JOBS, row, ONLY, { ...row, heartbeatAt: now });
        return found.map(jobOf);
      }),
    heartbeat: (jobs) =>
      tables.run((rows) => {
        const lost: string[] = [];
        for (const job of jobs) {
          const row = rows.get(JOBS, job, ONLY);
          if (row?.id === job.id && row.heartbeatAt !== null)
            rows.put(JOBS, job, ONLY, { ...row, heartbeatAt: env.now() });
          else if (!runs(rows, job)) lost.push(job.id);
        }
        return lost;
      }),
    release: (jobs, { delayMs = 0 } = {}) =>
      tables.run((rows) => {
        checkDuration(delayMs, "delayMs");
        for (const job of jobs) {
          const row = rows.get(JOBS, job, ONLY);
          const running = rows.get(RUNNING, job, ONLY);
          if (row?.id === job.id)
            rows.put(JOBS, job, ONLY, { ...row, heartbeatAt: null, after: env.now() + delayMs });
          else if (running !== undefined && runs(rows, job)) returnTurn(rows, env, running, delayMs);
        }
      }),
    left: (executor, { limit }) =>
      tables.run((rows) =>
        leftTurns(rows, executor, limit).map(({ tenant, session, turn }) => ({ tenant, session, turn })),
      ),
    recover: (executor, { limit, withTool = [] }) =>
      tables.run((rows) => {
        const left = leftTurns(rows, executor, limit);
        const keys = new Set(withTool.map(sessionKey));
        const turns = left.map((row) => {
          const deaths = row.deaths + 1;
          return { ...row, deaths, suspicion: suspicionOf(deaths, keys.has(sessionKey(row))) };
        });
        const others = rows.all(RUNNING).filter((row) => !left.includes(row));
        const suspicions = [...others, ...turns].map(({ suspicion }) => suspicion);
        for (const turn of turns) {
          const alone = mustRunAlone(turn, suspicions);
          returnTurn(rows, env, { ...turn, alone }, recoveryDelayMs(turn.deaths));
        }
        return left.length;
      }),
    wakeDue: ({ limit }) =>
      tables.run((rows) => {
        const now = env.now();
        const due = rows
          .all(RUNNING)
          .filter(({ job, wakeAt }) => job === null && wakeAt !== null && wakeAt <= now)
          .toSorted((a, b) => (a.wakeAt ?? 0) - (b.wakeAt ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH));
        for (const row of due) wakeTurn(rows, env, row);
        return due.length;
      }),
    maintain: async () => {},
    bury: (ref, turn) =>
      tables.run((rows) => {
        const row = sessionRow(rows, ref) === undefined ? undefined : rows.get(RUNNING, ref, ONLY);
        if (row?.turn !== turn) return;
        const { tenant, session, agent, deaths } = row;
        rows.put(DEAD_TURNS, ref, turn, { tenant, session, turn, agent, deaths, at: env.now() });
      }),
    dead: ({ limit }) =>
      tables.run((rows) =>
        rows
          .all(DEAD_TURNS)
          .toSorted((a, b) => b.at - a.at || compareText(a.turn, b.turn))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((row) => ({ ...row, user: requireSession(rows, row).user })),
      ),
    counts: () =>
      tables.run((rows) => {
        const [queued, running] = [rows.all(JOBS), rows.all(RUNNING).filter((row) => row.executor !== null)];
        const agents = [...new Set([...queued, ...running].map(({ agent }) => agent))];
        return agents
          .toSorted((a, b) => compareText(a ?? "", b ?? ""))
          .map((agent) => ({
            agent,
            queued: queued.filter((row) => row.agent === agent).length,
            running: running.filter((row) => row.agent === agent).length,
          }));
      }),
  };
}

/** True if the job is queued, or its heartbeat stayed away. */
function isFree(row: JobRow, now: number): boolean {
  return row.heartbeatAt === null ? row.after <= now : row.heartbeatAt + HEARTBEAT_SECONDS * 1_000 < now;
}

/** True if the turn of a started job still belongs to the process that started it. */
function runs(rows: Rows, job: TurnJob): boolean {
  const running = rows.get(RUNNING, job, ONLY);
  return running?.job === job.id && running.executor !== null;
}

function leftTurns(rows: Rows, executor: string, limit: number): RunningRow[] {
  return rows
    .all(RUNNING)
    .filter((row) => row.executor === executor)
    .slice(0, checkLimit(limit, MAX_BATCH));
}

/** Queues a job for a turn that its process left. */
function returnTurn(rows: Rows, env: Env, row: RunningRow, delayMs: number): void {
  const { agent, deaths, alone, rank } = row;
  const job = queueJob(rows, env, row, { agent, deaths, alone, rank, delayMs });
  putRunning(rows, { ...row, executor: null, job: job.id });
}

/** Queues a job for a parked turn. It counts as parked until it is started. */
export function wakeTurn(rows: Rows, env: Env, row: RunningRow): void {
  const { id, rank } = queueJob(rows, env, row, { agent: row.agent, deaths: row.deaths, alone: row.alone });
  putRunning(rows, { ...row, job: id, rank, wakeAt: null });
}

function jobOf({ id, tenant, session, user, agent, deaths, alone }: JobRow): TurnJob {
  return { id, tenant, session, user, agent, deaths, alone };
}
