/**
 * When a turn ends while people are asked, what they are asked is withdrawn: in the store, where it may be decided at the
 * same moment. Whichever wins is told, and then the turn can be closed.
 */
import { type Block, listBlocks, isPending, outlivesTurn } from "@turnstream/protocol";
import { transitionInteraction } from "../../session/interactions/transition.ts";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { type PendingBlock, applyDecision, storedInteractionId } from "./await-decision.ts";

/** @param isMeant what of all that is asked */
export async function withdrawPending(
  attempt: TurnAttempt,
  isMeant: (block: PendingBlock) => boolean = () => true,
): Promise<void> {
  const { parts, ref, row, turn } = attempt;
  const asked = listBlocks(turn).filter(isAsked).filter(isMeant);
  if (asked.length === 0) return;
  const { interactions } = parts.store;
  for (const block of asked) {
    const id = storedInteractionId(row.turn, block);
    await parts.store.transaction(async (tx) => {
      const interaction = await tx.interactions.get(ref, id);
      // Told and never committed: closing the turn is enough then.
      if (interaction !== null) await transitionInteraction(tx, ref, interaction, { to: "cancelled" });
    });
  }
  const { failure } = await publishCommitted(parts, ref);
  if (failure !== null) throw failure;
  for (const block of asked) {
    const change = (await interactions.changes(ref, storedInteractionId(row.turn, block))).at(-1);
    if (change !== undefined) applyDecision(attempt, block, change);
  }
}

function isAsked(block: Block): block is PendingBlock {
  return "version" in block && block.kind !== "payment" && isPending(block) && !outlivesTurn(block);
}
