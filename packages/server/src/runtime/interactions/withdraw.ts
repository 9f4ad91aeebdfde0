/**
 * When a turn ends while people are asked, what they are asked is withdrawn: in the store, where it may be decided at the
 * same moment. Whichever wins is told, and then the turn can be closed.
 */
import { type Block, blocksOf, isPending, outlivesTurn } from "@turnstream/protocol";
import { changeInteraction } from "../../session/interactions/transition.ts";
import { deliverCommitted } from "../../session/archive/relay-outbox.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { type AskedBlock, hearDecision, storedIdOf } from "./await-decision.ts";

/** @param isMeant what of all that is asked */
export async function withdrawAsked(
  attempt: Attempt,
  isMeant: (block: AskedBlock) => boolean = () => true,
): Promise<void> {
  const { parts, ref, row, turn } = attempt;
  const asked = blocksOf(turn).filter(isAsked).filter(isMeant);
  if (asked.length === 0) return;
  const { interactions } = parts.store;
  for (const block of asked) {
    const id = storedIdOf(row.turn, block);
    await parts.store.transaction(async (tx) => {
      const interaction = await tx.interactions.get(ref, id);
      // Told and never committed: closing the turn is enough then.
      if (interaction !== null) await changeInteraction(tx, ref, interaction, { to: "cancelled" });
    });
  }
  const { failure } = await deliverCommitted(parts, ref);
  if (failure !== null) throw failure;
  for (const block of asked) {
    const change = (await interactions.changes(ref, storedIdOf(row.turn, block))).at(-1);
    if (change !== undefined) hearDecision(attempt, block, change);
  }
}

function isAsked(block: Block): block is AskedBlock {
  return "version" in block && block.kind !== "payment" && isPending(block) && !outlivesTurn(block);
}
