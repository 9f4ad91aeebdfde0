/**
 * `decideApproval` applies a user's decision to an approval. It does not run the approved call.
 *
 * Invariant: the conditional change, its event, the audit entries and an allowance are one commit. After that the event
 * is published and the waiting turn is signalled. An edit changes only the arguments, after validation, and an
 * allowance needs a request that offers it.
 */
import type { ApprovalAction, Json } from "@turnstream/protocol";
import { StoreError } from "../../store/errors.ts";
import type { TransitionResult, Interaction } from "../../store/interactions.ts";
import type { NewAllowance } from "../../store/allowances.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { transitionInteraction, type DecisionSource, decisionSource } from "./transition.ts";
import { validateEditedInput } from "./validate-edit.ts";
import { findInteraction } from "./find.ts";
import { publishOutbox } from "../archive/relay-outbox.ts";
import type { CommandBackend } from "../backend.ts";
import { InputValidationError } from "../validation-error.ts";
import { signalDecision } from "../signal-channels.ts";
import { defined } from "../../util/defined.ts";

export interface ApprovalDecision extends DecisionSource {
  /** The key of the request. */
  readonly key: string;
  readonly decision: "approve" | "edit" | "reject";
  /** Only for "edit": the new arguments. */
  readonly input?: Json;
  readonly reason?: string;
  /** The digest that the user saw. A decision on anything else is refused. */
  readonly digest?: string;
  /**
   * Only for "approve", and only if the request offers it: this agent may call this tool in this session without
   * approval from now on.
   */
  readonly always?: boolean;
}

/** The stored request of an approval. A type, because TypeScript doesn't accept JSON as an interface. */
export type ApprovalRequest = {
  readonly actions: readonly ApprovalAction[];
  readonly editable: boolean;
  /** True if the user may allow the tool for the rest of the session. */
  readonly always: boolean;
  /** The agent that makes the call. */
  readonly agent: string;
  /** Digest of the tool's description and input schema, for an allowance. */
  readonly tool_digest: string;
};

const STATUS = { approve: "approved", edit: "edited", reject: "rejected" } as const;

/**
 * If several decisions arrive at the same time, one wins, and the others get the current state.
 * @throws StoreError NOT_FOUND, or INVALID with the field if the tool would not accept the edit
 */
export async function decideApproval(
  backend: CommandBackend,
  ref: SessionRef,
  decision: ApprovalDecision,
): Promise<TransitionResult> {
  // A request never changes, so it can be read outside of the transaction.
  const interaction = await findInteraction(backend.store, ref, decision.key, "approval");
  const actions = await editedActions(backend.store, ref, interaction, decision);
  const rule = ruleOf(interaction.request as ApprovalRequest, decision);
  const { userId, reason, digest } = decision;
  const result = await backend.store.transaction((tx) => {
    const allow = async (allowance: NewAllowance) => {
      await tx.allowances.add(ref, { ...allowance, ...defined({ by: userId }) });
      const { agent, tool } = allowance;
      return { action: "approval.always", subject: { agent, tool } } as const;
    };
    return transitionInteraction(tx, ref, interaction, {
      to: STATUS[decision.decision],
      fields: defined({ actions, always: rule && true }),
      ...decisionSource(decision),
      ...defined({ reason, digest, also: rule && (() => allow(rule)) }),
    });
  });
  await publishOutbox(backend, ref);
  await signalDecision(backend, ref);
  return result;
}

/** An edit changes the arguments but not the tool. */
async function editedActions(
  store: Store,
  ref: SessionRef,
  { id, request }: Interaction,
  { decision, input, key }: ApprovalDecision,
): Promise<readonly ApprovalAction[] | undefined> {
  if ((decision === "edit") !== (input !== undefined))
    throw bad(key, "`input` is required for an edit and not allowed otherwise");
  if (input === undefined) return undefined;
  const { actions, editable } = request as ApprovalRequest;
  if (!editable) throw bad(key, "its arguments can't be edited");
  const problem = validateEditedInput(input, await store.interactions.schema(ref, id));
  if (problem !== null) throw new InputValidationError(`approval ${key}`, problem);
  return actions.map((action) => ({ ...action, input }));
}

function ruleOf(
  { always, agent, actions, tool_digest: digest }: ApprovalRequest,
  { decision, key, ...input }: ApprovalDecision,
): NewAllowance | undefined {
  if (input.always !== true) return undefined;
  if (decision !== "approve") throw bad(key, "`always` is only allowed with an approval");
  const tool = actions[0]?.name;
  if (!always || tool === undefined) throw bad(key, "it doesn't offer `always`");
  return { agent, tool, digest };
}

function bad(key: string, why: string): StoreError {
  return new StoreError("INVALID", `approval ${key}: ${why}`);
}
