/**
 * A person decides on an approval: one conditional change in the store, and in the same commit the event that tells of it
 * and the note in the audit. Then it is brought to the log, and whoever waits is woken. Never runs what was approved.
 */
import type { ApprovalAction, Json } from "@turnstream/protocol";
import { StoreError } from "../../store/errors.ts";
import type { TransitionResult, Interaction } from "../../store/ports/interactions.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import { transitionInteraction, type DecisionSource, decisionSource } from "./transition.ts";
import { validateEditedInput } from "./validate-edit.ts";
import { findInteraction } from "./find.ts";
import { publishOutbox } from "../archive/publish-outbox.ts";
import type { CommandBackend } from "../backend.ts";
import { InputValidationError } from "../validation-error.ts";
import { DECISIONS_CHANNEL, encodeSessionRef } from "../signal-channels.ts";

export interface ApprovalDecision extends DecisionSource {
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
  readonly actions: readonly ApprovalAction[];
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
  backend: CommandBackend,
  ref: SessionRef,
  decision: ApprovalDecision,
): Promise<TransitionResult> {
  // What was asked never changes, so that all of it can be looked at before.
  const interaction = await findInteraction(backend.store, ref, decision.key, "approval");
  const actions = await editedActions(backend.store, ref, interaction, decision);
  const rule = ruleOf(interaction.request as unknown as ApprovalRequest, decision);
  const { userId, reason, digest } = decision;
  const result = await backend.store.transaction((tx) =>
    transitionInteraction(tx, ref, interaction, {
      to: STATUS[decision.decision],
      fields: {
        ...(actions === null ? {} : { actions }),
        ...(rule === null ? {} : { always: true }),
      },
      ...decisionSource(decision),
      ...(reason === undefined ? {} : { reason }),
      ...(digest === undefined ? {} : { digest }),
      ...(rule === null
        ? {}
        : {
            also: async () => {
              await tx.allowances.add(ref, { ...rule, ...(userId === undefined ? {} : { by: userId }) });
              return { action: "approval.always", subject: rule };
            },
          }),
    }),
  );
  await publishOutbox(backend, ref);
  backend.signals.send(DECISIONS_CHANNEL, encodeSessionRef(ref));
  return result;
}

/** An edit changes arguments, and not which tool is called. */
async function editedActions(
  store: Store,
  ref: SessionRef,
  { id, request }: Interaction,
  { decision, input, key }: ApprovalDecision,
): Promise<readonly ApprovalAction[] | null> {
  if ((decision === "edit") !== (input !== undefined))
    throw bad(key, "arguments come with an edit, and only with it");
  if (input === undefined) return null;
  const { actions, editable } = request as unknown as ApprovalRequest;
  if (!editable) throw bad(key, "it can't be edited");
  const problem = validateEditedInput(input, await store.interactions.schema(ref, id));
  if (problem !== null) throw new InputValidationError(`approval ${key}`, problem);
  return actions.map((action) => ({ ...action, input }));
}

function ruleOf(
  { always = false, agent, actions }: ApprovalRequest,
  { decision, key, ...input }: ApprovalDecision,
): { readonly agent: string; readonly tool: string } | null {
  if (input.always !== true) return null;
  if (decision !== "approve") throw bad(key, "for good comes with an approval, and only with it");
  const tool = actions[0]?.name;
  if (!always || agent === undefined || tool === undefined) throw bad(key, "it can't be approved for good");
  return { agent, tool };
}

function bad(key: string, why: string): StoreError {
  return new StoreError("INVALID", `approval ${key}: ${why}`);
}
