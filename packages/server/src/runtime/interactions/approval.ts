/** A call waits for a person's approval: whether it needs one, what is shown, and what follows from the decision. */
import { createHash } from "node:crypto";
import { type ApprovalAction, type ApprovalBlock, listBlocks, type Json } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import { parseInput } from "../../models/tool-schema.ts";
import type { ApprovalRequest } from "../../session/interactions/decide-approval.ts";
import type { Allowance, InteractionChange } from "../../store/ports/interactions.ts";
import { canonicalJson } from "../../store/rules/canonical-json.ts";
import type { Store } from "../../store/store.ts";
import { approvalKey, type ToolCallRecord, mismatchKey } from "../attempt/journal-entries.ts";
import { callLabel, type RunContext } from "../attempt/run-context.ts";
import { failedResult } from "../attempt/tool-result.ts";
import { resolveApproval, type ApprovalRequirement } from "../define/approval.ts";
import type { Tool } from "../define/tool.ts";
import type { StepCall } from "../events/step-writer.ts";
import type { RuntimeStrings } from "../strings.ts";
import { awaitDecision, requestKey, storedInteractionId } from "./await-decision.ts";

export type ApprovalResult =
  | { readonly ok: true; readonly input: unknown }
  | { readonly ok: false; readonly record: ToolCallRecord };

export async function requestApproval(
  scope: RunContext,
  call: StepCall,
  tool: Tool,
  input: unknown,
): Promise<ApprovalResult> {
  const requirement = await resolveRequirement(scope, call, tool, input);
  if (requirement === null) return { ok: true, input };
  const { attempt } = scope;
  const block = await writeRequest(scope, call, requirement);
  const { actions, editable, offers_always: always } = block;
  const request: ApprovalRequest = { actions, editable, always, agent: scope.agent.name };
  const schema = editable ? schemaOf(scope, call) : undefined;
  const decided = await awaitDecision(attempt, block, request as unknown as Json, schema);
  const isAllowed = decided.status === "approved" || decided.status === "edited";
  if (isAllowed && !(await isAsShown(scope, call, block))) return refuseOther(scope, call);
  return outcomeOf(scope, call, tool, input, decided);
}

/** Noted, so that a policy is asked once, and a deploy doesn't change what was asked for. */
async function resolveRequirement(
  scope: RunContext,
  call: StepCall,
  tool: Tool,
  input: unknown,
): Promise<ApprovalRequirement | null> {
  const { attempt } = scope;
  const key = approvalKey(call.call);
  const known = attempt.fromJournal(key);
  if (known !== undefined) return known;
  if (tool.approval === false) return null;
  const { tenant, session, turn, user } = attempt.row;
  const context = { tenant, session, turn, user, call: call.call };
  const requirement = await resolveApproval(tool.approval, input, context).catch((error: unknown) => {
    attempt.context.onError(error, { during: `the approval policy of the tool ${call.name}` });
    // A policy that fails lets nothing through, by no rule either.
    return resolveApproval({ canRemember: false }, input, context);
  });
  const rule = requirement?.always === true ? await ruleFor(scope, call) : null;
  if (rule === null) await attempt.journal(key, requirement);
  else await attempt.journal(key, null, { alsoCommit: (tx) => audit(tx, scope, call, "approval.passed") });
  return rule === null ? requirement : null;
}

/** What a person has allowed for the rest of the session. */
function ruleFor({ attempt, agent }: RunContext, { name }: StepCall): Promise<Allowance | null> {
  return attempt.context.store.allowances.find(attempt.ref, agent.name, name);
}

async function audit(
  tx: Store,
  { attempt, agent }: RunContext,
  { call, name }: StepCall,
  action: string,
): Promise<void> {
  const { tenant, session, turn } = attempt.row;
  const subject = { session, turn, call, agent: agent.name, tool: name };
  await tx.audit.add(tenant, { actor: null, action, subject });
}

/** As it was offered to the model. */
function schemaOf({ pinned }: RunContext, { name }: StepCall): Json | undefined {
  return pinned.tools.find((offered) => offered.name === name)?.input;
}

async function writeRequest(
  scope: RunContext,
  call: StepCall,
  requirement: ApprovalRequirement,
): Promise<ApprovalBlock> {
  const { attempt, run } = scope;
  const { writer, context } = attempt;
  const known = approvalOf(scope, call);
  if (known !== undefined) return known;
  const label = callLabel(scope, call.name, call.input);
  const cut = cutInput(call.input, context.strings);
  const actions: ApprovalAction[] = [
    { name: call.name, input: cut ?? call.input, ...(label === "" ? {} : { label }) },
  ];
  await writer.start({
    type: "approval.request",
    run,
    key: requestKey(attempt),
    call: call.call,
    actions,
    // Whoever edits would send back the beginning for the whole.
    editable: requirement.editable && cut === null,
    timeout_seconds: requirement.timeoutSeconds,
    deadline: context.env.now() + requirement.timeoutSeconds * 1_000,
    ...(requirement.always ? { always: true as const } : {}),
    digest: digestFor(scope, call),
  });
  await writer.flush();
  const written = approvalOf(scope, call);
  if (written === undefined) throw new Error(`the approval of ${call.call} was not told`);
  return written;
}

/** With what is around them, arguments have to fit one event. */
const MAX_INPUT_BYTES = 48_000;
const SHOWN_CHARS = 4_096;

/** How arguments begin that are too large to be shown; null for others. The whole is where the call is told. */
function cutInput(input: Json, strings: RuntimeStrings): string | null {
  const text = JSON.stringify(input);
  if (Buffer.byteLength(text) <= MAX_INPUT_BYTES) return null;
  const shown = truncateText(text, SHOWN_CHARS);
  return `${shown} ${strings.truncatedArguments(shown.length, text.length)}`;
}

function digestFor({ attempt }: RunContext, { call, name, input }: StepCall): string {
  const { session, turn } = attempt.row;
  return argumentsDigest({ session, turn, call, name, input });
}

/** What is about to run is what people were shown and what was decided on, or it doesn't run. */
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
    await attempt.journal(key, true, { alsoCommit: (tx) => audit(tx, scope, call, "approval.mismatch") });
  const problem = `The call of ${call.name} was not made: it is not the one that was approved. Call it again, so that it is asked for again.`;
  return { ok: false, record: failedResult(problem, attempt.context.strings.toolFailed) };
}

function approvalOf({ attempt }: RunContext, { call }: StepCall): ApprovalBlock | undefined {
  return listBlocks(attempt.turn)
    .filter((block) => block.kind === "approval")
    .findLast((block) => block.call === call);
}

async function outcomeOf(
  { attempt }: RunContext,
  call: StepCall,
  tool: Tool,
  input: unknown,
  { status, body, reason }: InteractionChange,
): Promise<ApprovalResult> {
  const { strings } = attempt.context;
  const why = reason === null ? "" : ` They said: ${reason}`;
  switch (status) {
    case "approved":
      return { ok: true, input };
    case "edited": {
      const [action] = (body as unknown as { actions: readonly ApprovalAction[] }).actions;
      const parsed = await parseInput(tool.input, action?.input);
      if (parsed.ok) return { ok: true, input: parsed.value };
      const problem = `The person changed the arguments to ones that don't fit the tool: ${parsed.problem}`;
      return { ok: false, record: failedResult(problem, strings.toolFailed) };
    }
    case "timed_out":
      return {
        ok: false,
        record: failedResult(`Nobody approved the call of ${call.name} in time.`, strings.notApproved),
      };
    default:
      return {
        ok: false,
        record: failedResult(`The person rejected the call of ${call.name}.${why}`, strings.rejected),
      };
  }
}

/** What a decision is bound to: the call and its arguments as they were shown. Pure. */
export function argumentsDigest(shown: { readonly [field: string]: Json }): string {
  return `sha256:${createHash("sha256").update(canonicalJson(shown)).digest("hex")}`;
}
