/**
 * `withdrawPending` cancels the pending interactions of a turn or call that ends, except requests that
 * outlive the turn.
 *
 * Invariant: it cancels in the store first, because a user may decide at the same time. Whichever change wins is
 * published before the turn closes.
 */
import { type Block, listBlocks, isPending } from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";
import { transitionInteraction } from "../../session/interactions/transition.ts";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { type PendingBlock, applyDecision, storedInteractionId } from "./await-decision.ts";

/** @param isIncluded selects the interactions to cancel. Default: all */
export async function withdrawPending(
  attempt: TurnAttempt,
  isIncluded: (block: PendingBlock) => boolean = () => true,
): Promise<void> {
  const { context, ref, row, turn } = attempt;
  const pending = listBlocks(turn).filter(isPendingBlock).filter(isIncluded);
  if (pending.length === 0) return;
  const { interactions } = context.store;
  for (const block of pending) {
    const id = storedInteractionId(row.turn, block);
    await context.store.transaction(async (tx) => {
      const interaction = await tx.interactions.get(ref, id);
      // The request is in the log but was never committed, so the closing events of the turn cancel it.
      if (interaction !== null) await transitionInteraction(tx, ref, interaction, { to: "cancelled" });
    });
  }
  const { failure } = await publishCommitted(context, ref);
  if (failure !== null) throw failure;
  for (const block of pending) {
    const change = (await interactions.changes(ref, storedInteractionId(row.turn, block))).at(-1);
    if (change !== undefined) applyDecision(attempt, block, change);
  }
}

function isPendingBlock(block: Block): block is PendingBlock {
  return "version" in block && isPending(block) && !outlivesTurn(block);
}
