/**
 * `expireForms` closes forms whose deadline has passed. For a form that ended its turn, no turn waits for its deadline.
 * `isLastTurn` decides whether the next turn starts then.
 *
 * Invariant: the store's clock decides, in one conditional change, so a decision of the user at the same time wins or
 * loses as a whole. Any number of workers may call it at the same time. A form that can't be closed now does not block
 * the others.
 */
import { isStoreError } from "../../store/errors.ts";
import type { Interaction } from "../../store/interactions.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { CommandBackend } from "../backend.ts";
import { changeForm } from "./submit-form.ts";
import { transitionInteraction } from "./transition.ts";

const BATCH = 100;

/** @returns how many forms this call closed */
export async function expireForms(backend: CommandBackend, onError: ErrorHandler): Promise<number> {
  let expired = 0;
  for (const form of await backend.store.interactions.overdueForms({ limit: BATCH })) {
    const { tenant, session } = form;
    try {
      if (await expireForm(backend, { tenant, session }, form)) expired++;
    } catch (error) {
      // NOT_FOUND: the session was erased meanwhile.
      if (!isStoreError(error, "NOT_FOUND")) onError(error, { during: `the deadline of form ${form.key}` });
    }
  }
  return expired;
}

/** @returns false if the form was decided meanwhile */
async function expireForm(
  backend: CommandBackend,
  ref: SessionRef,
  { key: form, turn }: Interaction,
): Promise<boolean> {
  const startNextTurn = await isLastTurn(backend.store, ref, turn);
  const { applied } = await changeForm(backend, ref, { form, startNextTurn }, (tx, interaction) =>
    transitionInteraction(tx, ref, interaction, { to: "expired" }),
  );
  return applied;
}

/**
 * Returns true if nothing followed a turn: no later turn and no queued message. Only then an interaction that expires
 * starts the next turn. Otherwise the user has moved on, and a later turn reads that it expired.
 */
export async function isLastTurn(store: Store, ref: SessionRef, turn: string): Promise<boolean> {
  const running = await store.running.get(ref);
  const [newest] = await store.turns.list(ref, { limit: 1 });
  const isNewest = (running?.turn ?? newest?.id) === turn;
  return isNewest && (await store.queuedMessages.list(ref)).length === 0;
}
