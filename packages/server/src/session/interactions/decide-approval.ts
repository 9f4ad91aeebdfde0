/**
 * A person decides on an approval: one conditional change in the store, and in the same commit the event that tells of it
 * and the note in the audit. Then it is brought to the log, and whoever waits is woken. Never runs what was approved.
 */
import type { Action, Json } from "@turnstream/protocol";
import { StoreError } from "../../store/errors.ts";
import type { ChangeResult, Interaction } from "../../store/ports/interactions.ts";
import type { Ref } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import { changeInteraction, type Decider, deciderOf } from "./transition.ts";
import { problemOfEdit } from "./validate-edit.ts";
import { findInteraction } from "./find.ts";
import { deliver } from "../archive/publish-outbox.ts";
import type { CommandParts } from "../backend.ts";
import { UnfitError } from "../validation-error.ts";
import { DECISIONS_CHANNEL, formatRef } from "../signal-channels.ts";

export interface Decision extends Decider {
  /** What the request calls itself. */
  readonly key: string;
  readonly decision: "approve" | "edit" | "reject";
  /** With "edit": the arguments to use instead. */
  readonly input?: Json;
  readonly reason?: string;
  /** Of what the person was shown: a decision on something else is refused. */
  readonly digest?: string;
  /** With "approve", where it is offered: from now on this agent may call this tool in this session without asking. */
  readonly always?: boolean;
}

/** What the request of an approval is in the store. */
export interface ApprovalRequest {
  readonly actions: readonly Action[];
  readonly editable: boolean;
  /** Whether a person may approve for good. Absent in requests of earlier versions. */
  readonly always?: boolean;
  /** Whose call it is. */
  readonly agent?: string;
}

const STATUS = { approve: "approved", edit: "edited", reject: "rejected" } as const;

/**
 * Of any number at once one wins; the others are told what it is now. Throws NOT_FOUND, and INVALID for an edit that the
 * tool would not take, with words that name the place.
 */
export async function decideApproval(
  parts: CommandParts,
  ref: Ref,
  decision: Decision,
): Promise<ChangeResult> {
  // What was asked never changes, so that all of it can be looked at before.
  const interaction = await findInteraction(parts.store, ref, decision.key, "approval");
  const actions = await editedActions(parts.store, ref, interaction, decision);
  const rule = ruleOf(interaction.request as unknown as ApprovalRequest, decision);
  const { by, reason, digest } = decision;
  const result = await parts.store.transaction((tx) =>
    changeInteraction(tx, ref, interaction, {
      to: STATUS[decision.decision],
      fields: {
        ...(actions === null ? {} : { actions }),
        ...(rule === null ? {} : { always: true }),
      },
      ...deciderOf(decision),
      ...(reason === undefined ? {} : { reason }),
      ...(digest === undefined ? {} : { digest }),
      ...(rule === null
        ? {}
        : {
            also: async () => {
              await tx.allowances.add(ref, { ...rule, ...(by === undefined ? {} : { by }) });
              return { action: "approval.always", subject: rule };
            },
          }),
    }),
  );
  await deliver(parts, ref);
  parts.signals.send(DECISIONS_CHANNEL, formatRef(ref));
  return result;
}

/** An edit changes arguments, and not which tool is called. */
async function editedActions(
  store: Store,
  ref: Ref,
  { id, request }: Interaction,
  { decision, input, key }: Decision,
): Promise<readonly Action[] | null> {
  if ((decision === "edit") !== (input !== undefined))
    throw bad(key, "arguments come with an edit, and only with it");
  if (input === undefined) return null;
  const { actions, editable } = request as unknown as ApprovalRequest;
  if (!editable) throw bad(key, "it can't be edited");
  const problem = problemOfEdit(input, await store.interactions.schema(ref, id));
  if (problem !== null) throw new UnfitError(`approval ${key}`, problem);
  return actions.map((action) => ({ ...action, input }));
}

function ruleOf(
  { always = false, agent, actions }: ApprovalRequest,
  { decision, key, ...wish }: Decision,
): { readonly agent: string; readonly tool: string } | null {
  if (wish.always !== true) return null;
  if (decision !== "approve") throw bad(key, "for good comes with an approval, and only with it");
  const tool = actions[0]?.name;
  if (!always || agent === undefined || tool === undefined) throw bad(key, "it can't be approved for good");
  return { agent, tool };
}

function bad(key: string, why: string): StoreError {
  return new StoreError("INVALID", `approval ${key}: ${why}`);
}
