/** Lets an attempt's own copy of its turn know what others have decided and told. */
import type { ApprovalBlock } from "@turnstream/protocol";
import type { InteractionChange } from "../../store/ports/interactions.ts";
import type { Attempt } from "../attempt.ts";
import type { TurnDraft } from "../pen.ts";

export function hearDecision({ pen }: Attempt, block: ApprovalBlock, change: InteractionChange): void {
  if (block.version >= change.version) return;
  const { run, id, index } = block;
  const { version, status, body, by, reason } = change;
  const draft = {
    type: "approval.update",
    run,
    block: id,
    index,
    version,
    status,
    ...(body === null ? {} : { actions: body }),
    ...(by === null ? {} : { by }),
    ...(reason === null ? {} : { reason }),
  };
  pen.hear(draft as unknown as TurnDraft);
}
