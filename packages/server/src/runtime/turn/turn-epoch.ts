/**
 * `createTurnEpochs` takes the epochs under which an attempt claims the log: first the one that it was started with, then
 * new ones, if the log has seen that one already or lost the claim.
 *
 * Invariant: a process takes an epoch only for a turn that it runs, so it can't take a session from the worker that runs
 * its turn. A worker without a lease takes none. If it freezes after it has looked at its lease, the store refuses it.
 */
import { EngineError } from "../../engine/errors.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionWithEpoch } from "../../store/sessions.ts";
import type { HeldTurn } from "../../store/turn-queue.ts";
import type { RuntimeContext } from "../attempt/context.ts";

/** @throws EngineError LEFT if this process no longer runs the turn, or StoreError NOT_FOUND if the session was erased */
export function createTurnEpochs(
  { store, lease }: Pick<RuntimeContext, "store" | "lease">,
  held: HeldTurn,
): (seen: number) => Promise<SessionWithEpoch> {
  let isUsed = false;
  return async (seen) => {
    if (!lease.isFresh()) throw new EngineError("LEFT", `session ${held.session}`);
    const isTaken = isUsed || seen >= held.epoch;
    const owns = !isTaken || (await store.queue.again(held, { seen, isCounted: false })) !== null;
    const session = await store.sessions.find(held);
    if (session === null) throw new StoreError("NOT_FOUND", `session ${held.session}`);
    if (!owns || session.epoch !== held.epoch) throw new EngineError("LEFT", `session ${held.session}`);
    isUsed = true;
    return session;
  };
}
