/**
 * `nextAttempt` records the next attempt at the turn of a job. If it is the first one here, its commit also makes this
 * process run the turn, and takes the epoch of the session. Claims no log.
 *
 * Invariant: a process takes the epoch only together with the turn, so it can't take a session from the worker that runs
 * its turn. A worker without a lease takes nothing.
 */
import { EngineError } from "../../engine/errors.ts";
import { isLogError } from "../../log/errors.ts";
import type { TakenEpoch } from "../../session/lifecycle/claim.ts";
import type { TurnJob } from "../../store/ports/jobs.ts";
import type { RunningTurn } from "../../store/ports/running.ts";
import type { RuntimeContext } from "../attempt/context.ts";

export interface NextAttempt {
  readonly row: RunningTurn;
  /** Null if the attempt has to take an epoch itself. */
  readonly taken: TakenEpoch | null;
}

/**
 * @param previous the turn at the previous attempt in this process, or null
 * @param isCounted true if this attempt is not counted again
 * @returns null if the job's session has nothing to run, or this process no longer runs it
 */
export async function nextAttempt(
  context: RuntimeContext,
  job: TurnJob,
  previous: RunningTurn | null,
  isCounted: boolean,
): Promise<NextAttempt | null> {
  if (previous === null) return startTurn(context, job);
  const { turn } = previous;
  const { running } = context.store;
  const row = await (isCounted ? running.get(job) : running.attempt(job, turn));
  return row?.turn === turn ? { row, taken: null } : null;
}

async function startTurn(context: RuntimeContext, job: TurnJob): Promise<NextAttempt | null> {
  const { store, log, env, executor, agents } = context;
  // Without the log, the turn starts nevertheless, and takes its epoch once the log is there again.
  const head = await log.head(job).catch((error: unknown) => {
    if (isLogError(error)) return undefined;
    throw error;
  });
  if (!context.holdsLease()) throw new EngineError("LEFT", `job ${job.id}`);
  return store.transaction(async (tx) => {
    const row = await tx.running.start(job, { executor, turn: env.id(), agents: [...agents.keys()] });
    if (row === null) return null;
    if (head === undefined) return { row, taken: null };
    const claim = { seen: head?.epoch ?? 0, by: executor, reason: reasonOf(row) };
    return { row, taken: { session: await tx.epochs.next(row, claim), head } };
  });
}

/** Why an attempt takes an epoch, for operators. */
export function reasonOf({ attempts, turn }: RunningTurn): string {
  return `attempt ${attempts} at turn ${turn}`;
}
