/**
 * `TurnQueue` is the sub-port that decides which process runs the turn of a session. Each session has one row: its epoch,
 * and whether a turn is queued, runs in a process, or waits for a user. Types only.
 *
 * Invariant: a session has at most one turn, and at most one process runs it, which has a lease. Each change of a turn that
 * runs is compared with its process and its epoch, so a command that arrives late changes nothing:
 *
 *   `queuedMessages.add`, `retry`              queue a turn if the session has none
 *   `start`                                    makes a process run it, under a new epoch
 *   `again`                                    the next attempt of that process, under a new epoch
 *   `release`, `leave`, `recover`              queue it again, because its process leaves or died
 *   `park`                                     leaves it to a user, without a process
 *   `wake`, `requestStop`, a passed `wakeAt`   queue a turn that waits for a user
 *   `end`                                      ends it, and queues the turn of the next message
 *   erasure of the session                     deletes its row
 */
import type { Json } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import type { RunningTurn, TurnCaller } from "./running.ts";

/** A turn that a process runs. The process changes `epoch` when it takes a new one. */
export interface HeldTurn extends SessionRef {
  readonly executor: string;
  epoch: number;
}

export interface StartedTurn {
  readonly held: HeldTurn;
  readonly row: RunningTurn;
  /** True if the process must start no other turn while it runs this one. */
  readonly isAlone: boolean;
}

export interface StartTurns {
  /** The process that will run the turns. */
  readonly executor: string;
  /** Start turns of these agents only, of messages that name no agent, and of agents that no process has registered. */
  readonly agents: readonly string[];
  /** How many at most. */
  readonly limit: number;
  /** Leave the turns of these tenants to others, because they use their share of this process. @default none */
  readonly skipTenants?: readonly string[];
  /** True if the process runs no turn. Only then it gets a turn during which processes died, and no other with it. */
  readonly isIdle: boolean;
}

/** The request to answer the message of an earlier turn again. */
export interface TurnRetry extends Partial<TurnCaller> {
  readonly turn: string;
  readonly retries: string;
  /** See `RunningTurn`. */
  readonly options?: Json;
}

/** A turn that was ended because of its deaths, for operators. */
export interface DeadTurn extends SessionRef {
  readonly turn: string;
  readonly agent: string | null;
  readonly user: string;
  readonly deaths: number;
  readonly at: number;
}

/**
 * - "over": that turn isn't running.
 * - "ended": it was removed.
 * - `queuedFor`: it was removed, and the turn of the next message is queued for this agent, or for all for null.
 */
export type EndReceipt = "over" | "ended" | { readonly queuedFor: string | null };

/** From this many deaths on, the turns with the most deaths of all run only in a process that runs no other. */
export const DEATHS_BEFORE_ALONE = 2;
/** A turn that waits this long for such a process runs beside others. */
export const MAX_ALONE_WAIT_MS = 60_000;
/** After this many deaths, a turn isn't run again. It ends with an error, and an operator can restart it. */
export const MAX_DEATHS = 5;

export interface TurnQueue {
  /**
   * Makes the caller run queued turns, and counts an attempt of each. The order is fair: tenants take turns, and so do
   * the users of a tenant, over all processes. A caller without a lease, or whose lease has expired, gets none.
   */
  start(request: StartTurns): Promise<StartedTurn[]>;
  /**
   * Starts the next attempt at a turn that the caller runs. Sets the epoch of `held`.
   * @param options.seen the highest epoch in which the log was seen. @default 0
   * @param options.isCounted false if it doesn't count as an attempt. @default true
   * @returns null if the caller no longer runs the turn
   */
  again(
    held: HeldTurn,
    options?: { readonly seen?: number; readonly isCounted?: boolean },
  ): Promise<RunningTurn | null>;
  /** Returns the turns that a process runs according to the store. At most 10,000. */
  held(executor: string): Promise<HeldTurn[]>;
  /** Queues turns again, for example when the process shuts down. Other processes can start them after the delay. */
  release(turns: readonly HeldTurn[], options?: { readonly delayMs?: number }): Promise<void>;
  /**
   * Queues at most `limit` turns of a dead process again, and counts a death for each. The delay grows with the deaths of
   * a turn.
   * @returns how many; fewer than `limit` if none is left
   */
  recover(executor: string, query: { readonly limit: number }): Promise<number>;
  /**
   * Ends the lease of a process, and queues all turns again that it still has, without a death. Returns false and changes
   * nothing if it no longer has the lease: then its turns are recovered.
   */
  leave(executor: string): Promise<boolean>;
  /**
   * Leaves a turn that waits for a user, so that no process has to wait with it, and excludes its attempt from
   * `attemptsWithoutProgress`. Returns false if the caller no longer runs it. The session is locked afterwards: read the
   * decisions in the same transaction, and call `wake` if there is one.
   */
  park(held: HeldTurn, turn: string, options: { readonly wakeAt: number | null }): Promise<boolean>;
  /** Queues the turn of a session if it waits for a user. Decisions call it in their transaction. Returns whether it did. */
  wake(ref: SessionRef): Promise<boolean>;
  /** Queues turns that wait for a user and whose wake-up time has passed. Returns how many. */
  wakeDue(query: { readonly limit: number }): Promise<number>;
  /**
   * Queues a turn that retries an earlier one, before queued messages. Returns null if the session has a turn.
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  retry(ref: SessionRef, retry: TurnRetry): Promise<RunningTurn | null>;
  /**
   * Removes a turn after its end was written to the log.
   * @param options.epoch the epoch that the caller has claimed
   * @param options.executor the process of the caller. @default any
   * @throws StoreError with FENCED if a higher epoch was issued since, or if the process doesn't run the turn under this one
   */
  end(
    ref: SessionRef,
    turn: string,
    options?: { readonly epoch?: number; readonly executor?: string },
  ): Promise<EndReceipt>;
  /** Records a turn that ended because of its deaths. Joins the transaction of `end`. */
  bury(ref: SessionRef, turn: string): Promise<void>;
  /** Returns buried turns, the newest first. */
  dead(query: { readonly limit: number }): Promise<DeadTurn[]>;
}
