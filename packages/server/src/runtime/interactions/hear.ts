/** Lets an attempt's own copy of its turn know what others have decided and told. */
import { updateOf } from "../../session/interactions/transition.ts";
import type { InteractionChange } from "../../store/ports/interactions.ts";
import type { Attempt } from "../attempt/attempt.ts";
import type { TurnDraft } from "../events/turn-writer.ts";
import type { AskedBlock } from "./await-decision.ts";

export function hearDecision({ pen }: Attempt, block: AskedBlock, change: InteractionChange): void {
  if (block.version >= change.version) return;
  const { kind, run, id, index } = block;
  pen.hear(updateOf({ kind, run, block: id, index }, change) as TurnDraft);
}
