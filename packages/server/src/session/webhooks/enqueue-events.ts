/**
 * `enqueueInteractionEvent` and `enqueueTurnEvent` add webhook deliveries for a change, in its
 * transaction. They do not send them.
 *
 * Invariant: each version of an interaction and end of a turn has one key, so a repeated commit adds nothing. The
 * data contains ids and states only, and never a title, text, value or reason.
 */
import type { Interaction } from "../../store/interactions.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";

type WebhookStore = Pick<Store, "webhooks">;

/** Call it after a request or a change of any kind, with the interaction as it is now. */
export async function enqueueInteractionEvent(
  tx: WebhookStore,
  ref: SessionRef,
  interaction: Pick<Interaction, "id" | "kind" | "key" | "turn" | "status" | "version" | "deadline">,
): Promise<void> {
  const { id, kind, key, turn, status, version, deadline } = interaction;
  await tx.webhooks.enqueue(ref, {
    type: version === 0 ? "interaction.requested" : "interaction.updated",
    key: eventKey("i", id, version),
    data: { turn_id: turn, interaction_id: key, kind, state: status, deadline },
  });
}

/** How a turn ended, and the code of its error. */
export interface TurnEnd {
  readonly reason: string;
  readonly code?: string;
}

export async function enqueueTurnEvent(
  tx: WebhookStore,
  ref: SessionRef,
  turn: string,
  { reason, code }: TurnEnd,
): Promise<void> {
  await tx.webhooks.enqueue(ref, {
    type: reason === "error" ? "turn.failed" : "turn.ended",
    key: eventKey("t", turn, 0),
    data: { turn_id: turn, state: reason, error: code ?? null },
  });
}

function eventKey(kind: "i" | "t", id: string, version: number): string {
  return `${kind}${version}/${id}`;
}
