/**
 * `requestApproval` asks the user to approve a tool call, waits for the decision, and returns the input to run or the
 * error result.
 *
 * Invariant: a call that needs approval runs only if its digest equals the digest that the user saw and decided on. The
 * requirement is journaled, so the policy runs once per call. If a policy fails, the call needs approval. Edited input
 * must fit the tool's schema. An allowance ends when the description or the input schema of its tool changes.
 */
import { createHash } from "node:crypto";
import type { ApprovalAction, ApprovalBlock, Json } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import { parseInput } from "../../models/tool-schema.ts";
import type { ApprovalRequest } from "../../session/interactions/decide-approval.ts";
import type { InteractionChange } from "../../store/interactions.ts";
import type { AuditAction } from "../../store/rules/audit-actions.ts";
import { canonicalJson } from "../../store/rules/canonical-json.ts";
import type { Store } from "../../store/store.ts";
import { approvalKey, type ToolCallRecord, mismatchKey, type StepCall } from "../run/journal-entries.ts";
import { callLabel, type CheckedCall, findToolSource, type RunContext } from "../run/run-context.ts";
import { failedResult } from "../run/tool-result.ts";
import { deadlineFields } from "../define/answer-timeout.ts";
import { resolveApproval, type ApprovalRequirement } from "../define/approval.ts";
import type { SourceTool } from "../define/tool-source.ts";
import type { RuntimeStrings } from "../../strings/runtime-strings.ts";
import {
  awaitDecision,
  findPending,
  requestKey,
  storedInteractionId,
  writePending,
} from "../../engine/interactions/await-decision.ts";
import { describeArguments } from "./describe-arguments.ts";
import { defined } from "../../util/defined.ts";

export type ApprovalResult =
  | { readonly ok: true; readonly input: unknown }
  | { readonly ok: false; readonly record: ToolCallRecord };

export async function requestApproval(checked: CheckedCall): Promise<ApprovalResult> {
  const requirement = await resolveRequirement(checked);
  const { scope, call, input } = checked;
  if (requirement === null) return { ok: true, input };
  const { attempt } = scope;
  const block = await writeRequest(scope, call, requirement);
  const { actions, editable, offers_always: always } = block;
  const request: ApprovalRequest = {
    actions,
    editable,
    always,
    agent: scope.agent.name,
    tool_digest: toolDigest(checked),
  };
  const schema = editable ? schemaOf(scope, call) : undefined;
  const decided = await awaitDecision(attempt, block, request, defined({ schema }));
  const isAllowed = decided.status === "approved" || decided.status === "edited";
  if (isAllowed && !(await isAsShown(scope, call, block))) return refuseOther(scope, call);
  return outcomeOf(checked, decided);
}

/**
 * Returns whether the call needs approval, and journals it. The policy runs once per call, and a deploy doesn't change
 * a request.
 */
async function resolveRequirement(checked: CheckedCall): Promise<ApprovalRequirement | null> {
  const { scope, call, tool, input } = checked;
  const { attempt, agent } = scope;
  const key = approvalKey(call.call);
  const known = attempt.fromJournal(key);
  if (known !== undefined) return known;
  if (tool.approval === false) return null;
  const { tenant, session, turn, user } = attempt.row;
  const context = { tenant, session, turn, user, call: call.call, messages: scope.messages ?? [] };
  const requirement = await resolveApproval(tool.approval, input, context).catch((error: unknown) => {
    attempt.context.onError(error, { during: `the approval policy of the tool ${call.name}` });
    // If a policy fails, the call needs approval, and stored allowances don't apply.
    return resolveApproval({ canRemember: false }, input, context);
  });
  // What the user allowed for the rest of the session.
  const { allowances } = attempt.context.store;
  const rule =
    requirement?.always === true ? await allowances.find(attempt.ref, agent.name, call.name) : null;
  if (rule === null) await attempt.journal(key, requirement);
  else if (rule.digest !== toolDigest(checked))
    await attempt.journal(key, requirement, (tx) => endRule(tx, scope, call));
  else {
    await attempt.journal(key, null, (tx) => audit(tx, scope, call, "approval.passed"));
    return null;
  }
  return requirement;
}

/** The user allowed another definition of the tool. */
async function endRule(tx: Store, scope: RunContext, call: StepCall): Promise<void> {
  const { attempt, agent } = scope;
  if (await tx.allowances.remove(attempt.ref, agent.name, call.name))
    await audit(tx, scope, call, "approval.lapsed");
}

/** Digest of what the tool claims to do. It is the current definition, because that one would run. */
function toolDigest({ scope, call, tool }: CheckedCall): string {
  const schema = "schema" in tool ? (tool as SourceTool).schema : (scope.agent.schemas[call.name] ?? null);
  return digestOf({ description: tool.description, schema });
}

async function audit(
  tx: Store,
  { attempt, agent }: RunContext,
  { call, name }: StepCall,
  action: AuditAction,
): Promise<void> {
  const { tenant, session, turn } = attempt.row;
  const subject = { session, turn, call, agent: agent.name, tool: name };
  await tx.audit.add(tenant, { actor: null, action, subject });
}

/** The schema as the model got it. */
function schemaOf({ pinned }: RunContext, { name }: StepCall): Json | undefined {
  return pinned.tools.find((offered) => offered.name === name)?.input;
}

async function writeRequest(
  scope: RunContext,
  call: StepCall,
  requirement: ApprovalRequirement,
): Promise<ApprovalBlock> {
  const { attempt, run } = scope;
  const known = findPending(attempt, "approval", call.call);
  if (known !== undefined) return known;
  const label = callLabel(scope, call.name, call.input);
  const cut = cutInput(call.input, attempt.strings);
  const source = findToolSource(scope, call.name);
  const { server, title } = source ?? {};
  // The user would edit the truncated arguments and send them back as the complete ones.
  const editable = requirement.editable && cut === null;
  const trust = { isEditable: editable, isTrusted: source === undefined };
  const fields = cut === null ? describeArguments(schemaOf(scope, call), call.input, trust) : null;
  const action: ApprovalAction = {
    name: call.name,
    input: cut ?? call.input,
    ...(label === "" ? {} : { label }),
    ...defined({ server, title }),
    ...(fields === null ? {} : { fields }),
  };
  return writePending(attempt, "approval", {
    type: "approval.request",
    run,
    key: requestKey(attempt),
    call: call.call,
    actions: [action],
    editable,
    ...deadlineFields(requirement.timeoutSeconds, attempt.context.env.now()),
    ...(requirement.always ? { always: true as const } : {}),
    digest: digestFor(scope, call),
  });
}

/** The arguments and the other fields must fit into one event. */
const MAX_INPUT_BYTES = 48_000;
const SHOWN_CHARS = 4_096;

/**
 * Returns the start of arguments that are too large to show, or null for others. The block of the call has the complete
 * arguments.
 */
function cutInput(input: Json, strings: RuntimeStrings): string | null {
  const text = JSON.stringify(input);
  if (Buffer.byteLength(text) <= MAX_INPUT_BYTES) return null;
  const shown = truncateText(text, SHOWN_CHARS);
  return `${shown} ${strings.truncatedArguments(shown.length, text.length)}`;
}

function digestFor({ attempt }: RunContext, { call, name, input }: StepCall): string {
  const { session, turn } = attempt.row;
  return digestOf({ session, turn, call, name, input });
}

/** Returns true if the call equals the one that the user saw and the one that the decision is stored for. */
async function isAsShown(scope: RunContext, call: StepCall, block: ApprovalBlock): Promise<boolean> {
  const { context, ref, row } = scope.attempt;
  const decided = await context.store.interactions.get(ref, storedInteractionId(row.turn, block));
  const digest = digestFor(scope, call);
  return block.digest === digest && decided?.digest === digest;
}

async function refuseOther(scope: RunContext, call: StepCall): Promise<ApprovalResult> {
  const { attempt } = scope;
  const key = mismatchKey(call.call);
  if (attempt.fromJournal(key) === undefined)
    await attempt.journal(key, true, (tx) => audit(tx, scope, call, "approval.mismatch"));
  const problem = `The call of ${call.name} did not run: it differs from the call that was approved. Call it again to request a new approval.`;
  return { ok: false, record: failedResult(problem, attempt.strings.toolFailed) };
}

async function outcomeOf(
  { scope, call, tool, input }: CheckedCall,
  { status, body, reason }: InteractionChange,
): Promise<ApprovalResult> {
  const { strings } = scope.attempt;
  const why = reason === null ? "" : ` Reason: ${reason}`;
  switch (status) {
    case "approved":
      return { ok: true, input };
    case "edited": {
      const [action] = (body as unknown as { actions: readonly ApprovalAction[] }).actions;
      const parsed = await parseInput(tool.input, action?.input);
      if (parsed.ok) return { ok: true, input: parsed.value };
      const problem = `The user changed the arguments, and they no longer fit the tool: ${parsed.problem}`;
      return { ok: false, record: failedResult(problem, strings.toolFailed) };
    }
    case "timed_out":
      return refusal(`The call of ${call.name} was not approved in time.`, strings.notApproved);
    default:
      return refusal(`The user rejected the call of ${call.name}.${why}`, strings.rejected);
  }
}

function refusal(content: string, preview: string): ApprovalResult {
  return { ok: false, record: { ...failedResult(content, preview), isRefusal: true } };
}

/** A decision is bound to the digest of the call as shown, and an allowance to that of its tool's definition. Pure. */
export function digestOf(value: { readonly [field: string]: Json }): string {
  return `sha256:${createHash("sha256").update(canonicalJson(value)).digest("hex")}`;
}
