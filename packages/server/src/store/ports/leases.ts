/**
 * The sub-port of executor leases: which worker processes are alive, by the store's clock and not by theirs.
 * Never moves the work of a dead one; it only says who may.
 */

export interface Leases {
  /** Begins or extends the executor's lease. False when another has taken it over: start anew with a new id. */
  take(executor: string, ttlMs: number): Promise<boolean>;
  /** Extends it. False when it was taken over or released: stop working. */
  renew(executor: string, ttlMs: number): Promise<boolean>;
  /** Executors whose lease ran out and whose work nobody alive has taken, the longest dead first. */
  expired(limit: number): Promise<string[]>;
  /**
   * Takes over an executor from `expired`. Of several that try, one gets true, and gets it again when it asks again. It calls `release(executor, by)` when
   * the work is moved; if it dies before that, the executor is in `expired` again.
   */
  takeDead(executor: string, by: string): Promise<boolean>;
  /** Which of these have no lease at all: nobody looks after what they may have left. At most 1,000. */
  unknown(executors: readonly string[]): Promise<string[]>;
  /** The executor ends and leaves its work to others: it is in `expired` at once. False when it isn't its own (any more). */
  leave(executor: string): Promise<boolean>;
  /**
   * Ends the lease: the executor itself (`by` is `executor`) left in good order, or who took it over (`by`) has moved
   * its work. False, and nothing changes, when the lease isn't theirs (any more): a taken-over executor that wakes up
   * can't end what its successor is at.
   */
  release(executor: string, by: string): Promise<boolean>;
}
