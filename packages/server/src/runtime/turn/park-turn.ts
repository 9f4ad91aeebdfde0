/**
 * `parkWhenIdle` ends an attempt that does nothing but wait for users, without ending the turn. A decision, a stop request
 * or a deadline gives the turn a job again, and a worker continues from the journal.
 *
 * Invariant: no decision is lost. The commit reads all interactions that the turn waits for after it has locked the
 * session, and so does each decision. A turn that waits for a decided one has a job again in the same commit.
 */
import type { TurnJob } from "../../store/ports/jobs.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";

/** The turn waits for a user, and no worker runs it. */
export class TurnParked extends Error {
  constructor() {
    super("the turn waits for a user");
    this.name = "TurnParked";
  }
}

/** How long to wait after a failure of the store, at least. */
const RETRY_MS = 1_000;

export function parkWhenIdle(
  attempt: TurnAttempt,
  job: TurnJob,
  afterMs = attempt.context.parkAfterMs,
): void {
  const { context, branches, row, signal } = attempt;
  branches.onIdle(afterMs, async () => {
    try {
      if (await park(attempt, job)) attempt.abort(new TurnParked());
    } catch (error) {
      context.onError(error, { during: `parking the turn ${row.turn}` });
      if (!signal.aborted) parkWhenIdle(attempt, job, Math.max(afterMs, RETRY_MS));
    }
  });
}

/** @returns false if the turn no longer belongs to this process */
async function park({ context, ref, row, branches }: TurnAttempt, job: TurnJob): Promise<boolean> {
  const { waiting } = branches;
  const deadlines = waiting.flatMap(({ deadline }) => deadline ?? []);
  const wakeAt = deadlines.length === 0 ? null : Math.min(...deadlines);
  if (!context.holdsLease()) return false;
  let isDecided = false;
  const isParked = await context.store.transaction(async (tx) => {
    // A wait is no failed attempt, however often a turn is parked.
    await tx.running.forgive(ref, row);
    if (!(await tx.running.park(job, row.turn, { wakeAt }))) return false;
    isDecided = false;
    for (const { id } of waiting) isDecided ||= (await tx.interactions.get(ref, id))?.status !== "pending";
    if (isDecided) await tx.running.wake(ref);
    return true;
  });
  if (isParked && isDecided) context.fetchNext(job.agent);
  return isParked;
}
