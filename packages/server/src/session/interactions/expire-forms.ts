/**
 * `expireForms` closes forms whose deadline has passed. For a form that ended its turn, no turn waits for its deadline.
 *
 * Invariant: the store's clock decides, in one conditional change, so a decision of the user at the same time wins or
 * loses as a whole. Any number of workers may call it at the same time. A form that can't be closed now does not block
 * the others.
 */
import { isStoreError } from "../../store/errors.ts";
import type { Interaction } from "../../store/interactions.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { CommandBackend } from "../backend.ts";
import { isLastTurn } from "./is-last-turn.ts";
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

/**
 * Starts the next turn only if nothing followed the form's turn. Otherwise a later turn reads that the form expired.
 * @returns false if the form was decided meanwhile
 */
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
