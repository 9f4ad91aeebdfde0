/**
 * A person decides on an approval: one conditional change in the store, and in the same commit the event that tells of it
 * and the note in the audit. Then it is brought to the log, and whoever waits is woken. Never runs what was approved.
 */
import type { Action, Json } from "@turnstream/protocol";
import { StoreError } from "../store/errors.ts";
import type { ChangeResult, Interaction } from "../store/ports/interactions.ts";
import type { Ref } from "../store/refs.ts";
import { changeInteraction } from "./change-interaction.ts";
import type { CommandParts } from "./parts.ts";
import { deliverCommitted } from "./relay.ts";
import { DECISIONS_CHANNEL, formatRef } from "./wake.ts";

export interface Decision {
  /** What the request calls itself. */
  readonly key: string;
  readonly decision: "approve" | "edit" | "reject";
  /** With "edit": the arguments to use instead. */
  readonly input?: Json;
  readonly by?: string;
  readonly reason?: string;
  /** Of what the person was shown: a decision on something else is refused. */
  readonly digest?: string;
}

const STATUS = { approve: "approved", edit: "edited", reject: "rejected" } as const;

/** Of any number at once one wins; the others are told what it is now. Throws NOT_FOUND, and INVALID for a bad edit. */
export async function decideApproval(
  parts: CommandParts,
  ref: Ref,
  decision: Decision,
): Promise<ChangeResult> {
  const result = await parts.store.transaction(async (tx) => {
    const interaction = await tx.interactions.byKey(ref, decision.key);
    if (interaction?.kind !== "approval") throw new StoreError("NOT_FOUND", `approval ${decision.key}`);
    const actions = actionsOf(interaction, decision);
    const { by, reason, digest } = decision;
    return changeInteraction(tx, ref, interaction, {
      to: STATUS[decision.decision],
      ...(actions === null ? {} : { fields: { actions } }),
      ...(by === undefined ? {} : { by }),
      ...(reason === undefined ? {} : { reason }),
      ...(digest === undefined ? {} : { digest }),
    });
  });
  await deliverCommitted(parts, ref);
  parts.signals.send(DECISIONS_CHANNEL, formatRef(ref));
  return result;
}

/** An edit changes arguments, and not which tool is called. */
function actionsOf({ request }: Interaction, { decision, input, key }: Decision): readonly Action[] | null {
  if ((decision === "edit") !== (input !== undefined))
    throw new StoreError("INVALID", `approval ${key}: arguments come with an edit, and only with it`);
  if (input === undefined) return null;
  const { actions, editable } = request as unknown as { actions: readonly Action[]; editable: boolean };
  if (!editable) throw new StoreError("INVALID", `approval ${key} can't be edited`);
  return actions.map((action) => ({ ...action, input }));
}
