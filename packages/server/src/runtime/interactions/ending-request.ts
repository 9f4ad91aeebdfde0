/**
 * `endingRecord` builds the outcome of a call that ends the turn with a form or a payment; `writeRequest` writes and
 * commits the request. Nothing here waits for the user.
 *
 * Invariant: the outcome of the call records the request, and a step has at most one. When all calls of the step are
 * done, the request is written outside of groups and committed before the turn ends.
 */
import { type Block, type FormBlock, listBlocks, type PaymentBlock } from "@turnstream/protocol";
import { interactionId, outlivesTurn } from "@turnstream/protocol/writer";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { closeOpenGroup } from "../attempt/close-open-group.ts";
import type { EndingRequest, ToolCallRecord } from "../attempt/journal-entries.ts";
import type { RunContext } from "../attempt/run-context.ts";
import { failedResult, successResult } from "../attempt/tool-result.ts";
import { deadlineFields } from "../define/answer-timeout.ts";
import type { StepCall } from "../events/step-writer.ts";
import { commitRequest } from "./await-decision.ts";
import { commitPayment, preparePayment } from "./commit-payment.ts";
import { formIdFor, paymentIdFor } from "./request-id.ts";

/** The result that the model reads if it continues before the user has decided. */
const SHOWN: Readonly<Record<EndingRequest["kind"], string>> = {
  form: "The form is shown to the user. The submitted values will be the result of this call.",
  payment: "The payment is shown to the user. Its status will be the result of this call.",
};
const ONE_AT_A_TIME =
  "Only one form or payment can be requested at a time, and another one is pending. Request this one later.";

/** Thrown by `requestForm` and `requestPayment` of a tool's context to end the tool. */
export class InteractionRequested extends Error {
  readonly request: EndingRequest;

  constructor(request: EndingRequest) {
    super(`the tool requests a ${request.kind}: don't catch this error`);
    this.name = "InteractionRequested";
    this.request = request;
  }
}

/** @param shown preview of the call's result, and how many parts of it are already written */
export function endingRecord(
  { attempt, requestSlot }: RunContext,
  { call }: StepCall,
  request: EndingRequest,
  { preview, parts }: { readonly preview: string; readonly parts: number } = { preview: "", parts: 0 },
): ToolCallRecord {
  if (requestSlot?.take(call) !== true) return failedResult(ONE_AT_A_TIME, preview, parts);
  const idFor = request.kind === "form" ? formIdFor : paymentIdFor;
  const ending = { id: idFor(attempt.row.turn, call), request };
  return { ...successResult({ content: SHOWN[request.kind], preview }, parts), ending };
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
  if (listRequests(attempt).every((block) => interactionId(block) !== id)) {
    await closeOpenGroup(scope);
    if (request.kind === "form") {
      const due = deadlineFields(request.timeoutSeconds, context.env.now());
      await writer.start({ type: "form.request", run, form: id, call, schema: request.schema, ...due });
    } else await writer.start({ ...(await preparePayment(attempt, id, request)), run, call });
    await writer.flush();
  }
  await commitRequests(attempt);
}

/** Commits every form and payment that outlives the turn. Repeating it changes nothing. */
export async function commitRequests(attempt: TurnAttempt): Promise<void> {
  const { agent, mode } = attempt.turn;
  for (const block of listRequests(attempt))
    if (block.kind === "form") await commitRequest(attempt, block, { schema: block.schema, agent, mode });
    else await commitPayment(attempt, block);
}

/** Includes requests that were decided before their turn ended. */
function listRequests({ turn }: TurnAttempt): (FormBlock | PaymentBlock)[] {
  return listBlocks(turn).filter(
    (block: Block): block is FormBlock | PaymentBlock => "version" in block && outlivesTurn(block),
  );
}
