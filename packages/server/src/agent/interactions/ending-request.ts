/**
 * `endingRecord` builds the outcome of a call that ends the turn with a request; `writeRequest` writes and commits the
 * request. `requestTools` are the tools with which a model makes one. Nothing here waits for the user.
 *
 * Invariant: the outcome of the call records the request, and a step has at most one. When all calls of the step are
 * done, the request is written outside of groups and committed before the turn ends.
 */
import { interactionId, REQUEST_FORM } from "@turnstream/protocol/writer";
import { closeOpenGroup } from "../run/close-open-group.ts";
import type { EndingRequest } from "../../engine/attempt/journal-keys.ts";
import type { ToolCallRecord, StepCall } from "../run/journal-entries.ts";
import type { RequestKind } from "../../engine/attempt/request-kind.ts";
import type { RunContext, RuntimeTool } from "../run/run-context.ts";
import { failedResult, successResult } from "../run/tool-result.ts";
import { commitRequests, describeMissing, listRequests } from "../../engine/interactions/commit-requests.ts";

const ONE_AT_A_TIME =
  "Only one request to the user, such as a form, can be made at a time, and another one is pending. Make this one later.";

/** Thrown by `requestForm` of a tool's context, and by functions of features, to end the tool. */
export class InteractionRequested extends Error {
  readonly request: EndingRequest;

  constructor(request: EndingRequest) {
    super(`the tool requests a ${request.kind}: don't catch this error`);
    this.name = "InteractionRequested";
    this.request = request;
  }
}

export function requestTools(kinds: Iterable<RequestKind>): RuntimeTool[] {
  return [...kinds].flatMap((kind) => (kind.tool === undefined ? [] : [requestTool(kind, kind.tool)]));
}

function requestTool({ kind }: RequestKind, tool: NonNullable<RequestKind["tool"]>): RuntimeTool {
  const { name } = tool;
  return {
    ...tool,
    phase: "request",
    isOffered: (agent) => (name === REQUEST_FORM ? agent.requestForms : agent.featureTools.includes(name)),
    run(scope, call) {
      const read = tool.parse(call.input, scope.agent.answerTimeoutSeconds);
      if (!read.ok) return failedResult(read.problem, scope.attempt.strings.toolFailed);
      return endingRecord(scope, call, { ...read.request, kind });
    },
  };
}

/** @param shown for a tool of the app: how many parts of its result are already written, whose users see a preview too */
export function endingRecord(
  { attempt, requestSlot }: RunContext,
  { call }: StepCall,
  request: EndingRequest,
  shown: { readonly parts: number } | null = null,
): ToolCallRecord {
  const { context, strings, row } = attempt;
  const kind = context.requestKinds.get(request.kind);
  const parts = shown?.parts ?? 0;
  if (kind === undefined) return failedResult(describeMissing(request.kind), strings.toolFailed, parts);
  const preview = shown === null ? "" : kind.preview(attempt);
  if (requestSlot?.take(call) !== true) return failedResult(ONE_AT_A_TIME, preview, parts);
  const ending = { id: kind.idFor(row.turn, call), request };
  return { ...successResult({ content: kind.shown, preview }, parts), ending };
}

/** Writes the request of a call if it is not in the log, and commits it. */
export async function writeRequest(
  scope: RunContext,
  { call }: StepCall,
  id: string,
  request: EndingRequest,
): Promise<void> {
  const { attempt, run } = scope;
  const { writer, context } = attempt;
  const kind = context.requestKinds.get(request.kind);
  if (kind !== undefined && listRequests(attempt.turn).every((block) => interactionId(block) !== id)) {
    await closeOpenGroup(scope);
    await writer.start({ ...(await kind.draft(attempt, id, request)), run, call });
    await writer.flush();
  }
  await commitRequests(attempt);
}
