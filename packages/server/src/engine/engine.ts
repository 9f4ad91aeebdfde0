/**
 * `Engine` is the port that stores which jobs are running and runs each until its handler returns. A job is one turn.
 * The turn's progress is in the store's journal, not in the engine. Knows nothing about sessions, logs or models.
 * Types only.
 * Invariant: a job id starts once, until it is pruned or deleted. A job ends only if its handler returns or throws
 * without an abort. Until then it stays recoverable, and each recovery is a further attempt. One executor owns a job.
 *
 *   start ──▶ running ──▶ ended ──▶ pruned
 *               │  ▲
 *     executor died or handed over: recover
 */
export interface Job {
  /** Unique: starting the same id again has no effect. Contains ids only, no content. */
  readonly id: string;
  /** Number of this attempt across all processes, starting at 1. */
  readonly attempt: number;
  /** Aborted when this process must stop working on the job: it hands over, or has lost its lease. */
  readonly signal: AbortSignal;
}

/**
 * Runs a job. Returning ends it, and throwing ends it as failed. If the signal is aborted, neither ends it: the job
 * stays running until another executor recovers it and continues from the journal.
 */
export type JobHandler = (job: Job) => Promise<void>;

export interface Engine {
  /** The name of this process, different at every launch. */
  readonly executor: string;
  /**
   * Starts a job in this process.
   * @returns false if a job with this id exists or existed
   * @throws EngineError with code `LEFT` if this process hands over or has lost its lease
   */
  start(id: string): Promise<boolean>;
  /**
   * Restarts the unended jobs of a dead executor, here or in another live process. Call it again if it throws: the jobs
   * may have been moved despite the error.
   * @returns the number of jobs
   */
  recover(executor: string): Promise<number>;
  /** Returns all executors with unended jobs, live or dead. */
  executors(): Promise<string[]>;
  /** Returns true if the job has started and not ended, in any process. */
  isRunning(id: string): Promise<boolean>;
  /** Number of jobs that run in this process. */
  readonly running: number;
  /**
   * Starts no more jobs, and aborts those that still run after `drainMs`. Resolves when all handlers have returned. Jobs
   * that were aborted, or whose handler threw, stay unended.
   * @param onBack called for each unended job when its handler has returned
   * @param drainMs how long the handlers may continue. Default: they are aborted at once
   */
  handOver(onBack?: (id: string) => void, drainMs?: number): Promise<void>;
  /**
   * Assigns unended jobs of this process to another executor, so that others can recover them. Their handlers must have
   * returned.
   */
  reassign(ids: readonly string[], executor: string): Promise<void>;
  /**
   * Deletes all jobs whose id starts with `prefix`, running or not, because their session is erased. Jobs that run here
   * are aborted.
   * @returns the number of jobs
   */
  deleteJobs(prefix: string): Promise<number>;
  /**
   * Deletes jobs that ended at least `olderThanMs` ago.
   * @returns the number of jobs
   */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
  /** Hands over, then releases all resources. */
  close(): Promise<void>;
}
