/**
 * `parkWhenIdle` ends an attempt that does nothing but wait for users, without ending the turn. A decision, a stop request
 * or a deadline queues the turn again, and a worker continues from the journal.
 *
 * Invariant: no decision is lost. The commit reads all interactions that the turn waits for after it has locked the turn,
 * and so does each decision. A turn that waits for a decided one is queued again in the same commit.
 */
import type { HeldTurn } from "../../store/turn-queue.ts";
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
  held: HeldTurn,
  afterMs = attempt.context.parkAfterMs,
): void {
  const { context, branches, row, signal } = attempt;
  branches.onIdle(afterMs, async () => {
    try {
      if (await park(attempt, held)) attempt.abort(new TurnParked());
    } catch (error) {
      context.onError(error, { during: `parking the turn ${row.turn}` });
      if (!signal.aborted) parkWhenIdle(attempt, held, Math.max(afterMs, RETRY_MS));
    }
  });
}

/** @returns false if the turn no longer belongs to this process */
async function park(attempt: TurnAttempt, held: HeldTurn): Promise<boolean> {
  const { context, ref, row, turn, branches } = attempt;
  const { waiting } = branches;
  const deadlines = waiting.flatMap(({ deadline }) => deadline ?? []);
  const wakeAt = deadlines.length === 0 ? null : Math.min(...deadlines);
  if (!context.lease.isFresh()) return false;
  // Afterwards no process runs the turn, and the store refuses its entries.
  await attempt.commitDeferred();
  let isDecided = false;
  const isParked = await context.store.transaction(async (tx) => {
    if (!(await tx.queue.park(held, row.turn, { wakeAt }))) return false;
    isDecided = false;
    for (const { id } of waiting) isDecided ||= (await tx.interactions.get(ref, id))?.status !== "pending";
    if (isDecided) await tx.queue.wake(ref);
    return true;
  });
  if (isParked && isDecided) context.startNext(turn.agent);
  return isParked;
}
