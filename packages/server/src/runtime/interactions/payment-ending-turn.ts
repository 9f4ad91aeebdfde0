/**
 * `requestPaymentTool` is the tool `request_payment`: it reads the arguments of the model and returns the outcome of the
 * call, which ends the turn.
 *
 * Invariant: a payment that no provider can charge never reaches the user. The model reads why, and can correct it.
 */
import type { JsonSchema } from "../../models/model.ts";
import { asJsonObject } from "../../util/json.ts";
import { MAX_LABEL } from "@turnstream/protocol/writer";
import type { ToolCallRecord } from "../attempt/journal-entries.ts";
import type { RunContext, RuntimeTool } from "../attempt/run-context.ts";
import { failedResult } from "../attempt/tool-result.ts";
import { REQUEST_PAYMENT } from "../define/agent.ts";
import { parsePayment, type PaymentSpec } from "../define/payment.ts";
import type { StepCall } from "../events/step-writer.ts";
import { endingRecord } from "./ending-request.ts";

const PAYMENT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    description: { type: "string", maxLength: MAX_LABEL, description: "What the user pays for." },
    amount: {
      type: "integer",
      minimum: 1,
      description:
        "The sum in the smallest unit that payment providers accept: 1200 is NT$1,200 in TWD and $12.00 in USD.",
    },
    currency: { type: "string", pattern: "^[A-Z]{3}$", description: "ISO 4217 code, such as TWD." },
    continue_after: {
      type: "boolean",
      description:
        "True (default) to be called again with the result as soon as the payment succeeds, fails, expires or is cancelled. False to wait for the user's next message.",
    },
  },
  required: ["description", "amount", "currency"],
  additionalProperties: false,
};

export const requestPaymentTool: RuntimeTool = {
  name: REQUEST_PAYMENT,
  description:
    "Asks the user to pay. Your turn ends with it, and the status of the payment is the result of this call.",
  input: PAYMENT_SCHEMA,
  phase: "request",
  isOffered: (agent, { payments }) => agent.requestPayments && payments !== null,
  run: requestPayment,
};

function requestPayment(scope: RunContext, call: StepCall): ToolCallRecord {
  const { description, amount, currency, continue_after: continueAfter } = asJsonObject(call.input);
  const spec = { description, amount, currency, continueAfter } as Partial<PaymentSpec>;
  const read = parsePayment(spec, scope.attempt.context.payments);
  if (!read.ok) return failedResult(`The payment is invalid: ${read.problem}.`);
  return endingRecord(scope, call, { kind: "payment", ...read.payment });
}
