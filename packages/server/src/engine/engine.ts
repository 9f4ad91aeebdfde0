/**
 * The port of the engine: it remembers which jobs have begun and not ended, and runs each in one process at a time,
 * again and again until its work returns. A job is a turn; what a turn has done is in the journal of the store, and not
 * here. Never knows sessions, logs or models.
 *
 *   start ──▶ running ──▶ ended ──▶ pruned
 *               │  ▲
 *     its executor died, or handed over: recover
 */
export interface Job {
  /** Given once: a second start of the same id does nothing. No content: ids only. */
  readonly id: string;
  /** Which attempt this is, in whichever process; 1 for the first. */
  readonly attempt: number;
  /** Aborted when this process must not go on with it: it hands over, or has lost its lease. */
  readonly signal: AbortSignal;
}

/**
 * Returning ends the job. Throwing ends it too, as failed. If the signal is aborted by then, neither does: the job stays
 * as it is, for another executor to recover, and finds what it has done in the journal.
 */
export type JobHandler = (job: Job) => Promise<void>;

export interface Engine {
  /** Names this process to the others, different at every launch. */
  readonly executor: string;
  /**
   * Begins a job in this process. False when there is or was one of this id. Throws LEFT when this process hands over
   * or has lost its lease.
   */
  start(id: string): Promise<boolean>;
  /**
   * Makes the unended jobs of a dead executor run again, here or in another living process. When it throws, call it
   * again: it may have moved them all the same. @returns how many
   */
  recover(executor: string): Promise<number>;
  /** The executors that have unended jobs, whether they live or not. */
  executors(): Promise<string[]>;
  /** Whether the job has begun and not ended, in whichever process. */
  isRunning(id: string): Promise<boolean>;
  /** How many jobs run in this process. */
  readonly running: number;
  /**
   * Aborts what runs here, and starts nothing more. Fulfilled when all work has returned; the jobs stay unended.
   * @param onBack told of each job whose work has returned, from the moment it has
   */
  handOver(onBack?: (id: string) => void): Promise<void>;
  /** Makes unended jobs of this process, whose work has returned, those of another executor, for others to recover. */
  reassign(ids: readonly string[], executor: string): Promise<void>;
  /**
   * Forgets every job whose id begins with this, running or not: the session is erased. Those that run here are aborted.
   * @returns how many
   */
  deleteJobs(prefix: string): Promise<number>;
  /** Forgets jobs that ended that long ago. @returns how many */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
  /** Hands over, then lets go of what it holds. */
  close(): Promise<void>;
}
