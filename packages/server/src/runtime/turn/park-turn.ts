/**
 * `parkWhenIdle` ends an attempt that does nothing but wait for users, without ending the turn. A decision, a stop request
 * or a deadline gives the turn a job again, and a worker continues from the journal.
 *
 * Invariant: the turn is parked only if nothing was decided: the commit compares all interactions that it waits for after
 * it has locked the turn, and each decision locks the turn too.
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

class NotIdle extends Error {}

export function parkWhenIdle(attempt: TurnAttempt, job: TurnJob): void {
  const { context, branches, row } = attempt;
  branches.onIdle(context.parkAfterMs, () => {
    park(attempt, job)
      .then((isParked) => {
        if (isParked) attempt.abort(new TurnParked());
      })
      .catch((error: unknown) => {
        // It is tried again after the same time.
        if (!(error instanceof NotIdle)) context.onError(error, { during: `parking the turn ${row.turn}` });
      });
  });
}

async function park({ context, ref, row, branches }: TurnAttempt, job: TurnJob): Promise<boolean> {
  const { waiting } = branches;
  const deadlines = waiting.flatMap(({ deadline }) => deadline ?? []);
  const wakeAt = deadlines.length === 0 ? null : Math.min(...deadlines);
  if (!context.holdsLease()) return false;
  return context.store.transaction(async (tx) => {
    if (!(await tx.running.park(job, row.turn, { wakeAt }))) return false;
    const current = await tx.running.get(ref);
    if (current === null || current.stop !== null) throw new NotIdle();
    for (const { id } of waiting)
      if ((await tx.interactions.get(ref, id))?.status !== "pending") throw new NotIdle();
    // A wait is no failed attempt, however often a turn is parked.
    await tx.running.forgive(ref, row);
    return true;
  });
}
