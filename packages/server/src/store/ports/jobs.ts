/**
 * `Jobs` is the sub-port of the durable job queue. A job means that a session has a turn to run: a queued message, a
 * retry, or a turn that a worker left. The other sub-ports queue and complete jobs inside their own transactions, see
 * below; workers only fetch jobs, send heartbeats and return jobs. Types only.
 *
 * Invariant: a session has at most one job, and it has one exactly if a worker can do something for it:
 *
 *   `queuedMessages.add`, `running.begin` with `retries`   queue a job if the session had nothing to run
 *   `running.start`                                        completes the fetched job and records the worker that runs the turn
 *   `running.end`                                          queues the next job, for a queued message
 *   `running.park`                                         leaves a turn that waits for a user without worker and job
 *   `jobs.release`, `jobs.recover`                         queue a job for a turn whose worker leaves or died
 *   a decision, `running.requestStop`, a passed wake-up time   queue a job for a parked turn
 *   erasure of the session                                 deletes the job
 *
 * An engine that assigns work by itself fits: it implements fetch, heartbeat and release, and `running.start` completes.
 */
import type { SessionRef } from "../../util/refs.ts";

/** A fetched job. It belongs to the process that fetched it, until that process returns it or is found dead. */
export interface TurnJob extends SessionRef {
  /** Changes each time the session gets a job. */
  readonly id: string;
  /** The agent whose queue the job was in. Null if its message names no agent: every worker fetches those. */
  readonly agent: string | null;
  /** The owner of the session. */
  readonly user: string;
  /** How many processes have died while they ran the turn. */
  readonly deaths: number;
  /** True if the turn may have ended a process, so it runs in a process without other turns. */
  readonly alone: boolean;
}

/** A turn whose process died. */
export interface LeftTurn extends SessionRef {
  readonly turn: string;
}

export interface FetchJobs {
  /** The worker's executor name. */
  readonly executor: string;
  /** Fetch jobs of these agents only. Null stands for messages that name no agent. */
  readonly agents: readonly (string | null)[];
  /** How many at most. */
  readonly limit: number;
  /** Leave the jobs of these tenants to others, because they use their share of this worker. @default none */
  readonly skipTenants?: readonly string[];
  /**
   * True fetches at most one job of a turn that must run alone, false fetches only other jobs. The worker must have no
   * other job.
   */
  readonly alone: boolean;
}

/** A dead-lettered turn, for operators. */
export interface DeadTurn extends SessionRef {
  readonly turn: string;
  readonly agent: string | null;
  readonly user: string;
  readonly deaths: number;
  readonly at: number;
}

/** After this many deaths, a suspected turn runs alone until it ends. After fewer, it does so for a short time. */
export const DEATHS_BEFORE_ALONE = 2;
/** After this many deaths, a turn isn't run again. It ends with an error, and an operator can restart it. */
export const MAX_DEATHS = 5;

export interface Jobs {
  /**
   * Makes queued jobs belong to the caller. The order is fair: tenants take turns, and so do the users of a tenant,
   * over all workers.
   */
  fetch(request: FetchJobs): Promise<TurnJob[]>;
  /**
   * Confirms that the caller still has these jobs. A job that isn't started and gets no heartbeat for 15 seconds returns
   * to the queue. The turn of a started job belongs to its worker as long as the worker has its lease.
   * @returns ids of jobs that no longer belong to the caller
   */
  heartbeat(jobs: readonly TurnJob[]): Promise<string[]>;
  /** Returns jobs to the queue, for example when the process shuts down. Other workers can fetch them immediately. */
  release(jobs: readonly TurnJob[], options?: { readonly delayMs?: number }): Promise<void>;
  /** Returns the first turns of a dead executor, in the order in which `recover` takes them. */
  left(executor: string, query: { readonly limit: number }): Promise<LeftTurn[]>;
  /**
   * Returns at most `limit` jobs of a dead executor to the queue and counts a death for each turn. The delay grows with
   * the deaths of a turn. `mustRunAlone` decides which turns run alone.
   * @param query.withTool sessions in which a tool ran when the process died
   * @returns how many; fewer than `limit` if none is left
   */
  recover(
    executor: string,
    query: { readonly limit: number; readonly withTool?: readonly SessionRef[] },
  ): Promise<number>;
  /** Queues jobs for parked turns whose wake-up time has passed. Returns how many. */
  wakeDue(query: { readonly limit: number }): Promise<number>;
  /**
   * Returns fetched jobs whose heartbeat stayed away to the queue, moves jobs of removed agents to the queue of all
   * workers, and deletes what is no longer needed. Call it every few seconds in each worker: one call per interval over
   * all workers does the work.
   */
  maintain(): Promise<void>;
  /** Records a turn that ended because of its deaths. Joins the transaction of `running.end`. */
  bury(ref: SessionRef, turn: string): Promise<void>;
  /** Returns dead-lettered turns, the newest first. */
  dead(query: { readonly limit: number }): Promise<DeadTurn[]>;
  /** How many jobs are queued and running, by agent. */
  counts(): Promise<
    readonly { readonly agent: string | null; readonly queued: number; readonly running: number }[]
  >;
}
