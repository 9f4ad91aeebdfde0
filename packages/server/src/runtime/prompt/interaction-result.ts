/**
 * `resultJson` renders the outcome of a form or payment for the model; `findRequests` finds the forms and payments of a
 * call. Pure.
 *
 * Invariant: every status has a text for the model. Values appear with labels instead of option values, and empty
 * fields are left out. A sum appears as users see it, so that the model can't mistake its unit. `findRequests` returns
 * only requests that outlive their turn.
 */
import {
  type Block,
  findRun,
  type FormBlock,
  type FormField,
  formatMoney,
  type Json,
  listBlocks,
  mainRun,
  type PaymentBlock,
  type Turn,
} from "@turnstream/protocol";
import { findSubAgentRun, interactionId, outlivesTurn } from "@turnstream/protocol/writer";
import type { Payment } from "../../store/payments.ts";

export type FormOutcome = Pick<FormBlock, "kind" | "schema" | "status" | "values" | "reason">;
type PaymentFields = "kind" | "description" | "order_no" | "amount" | "currency" | "status";
export interface PaymentOutcome extends Pick<PaymentBlock, PaymentFields> {
  /** The refunded part of `amount`. The event of a payment has neither of these fields. */
  readonly refunded?: number;
  /** True if the provider reported a success after the final status, and no operator has dealt with it. */
  readonly isPaidLate?: boolean;
}
export type InteractionOutcome = FormOutcome | PaymentOutcome;

/** Returns the forms and payments that a call requested, directly or through its sub-agent. */
export function findRequests(turn: Turn, call: string): (FormBlock | PaymentBlock)[] {
  const sub = findSubAgentRun(turn, call)?.id;
  return listBlocks(turn).filter(
    (block: Block): block is FormBlock | PaymentBlock =>
      "version" in block &&
      outlivesTurn(block) &&
      (block.call === call || (sub !== undefined && isBelow(turn, block.run, sub))),
  );
}

function isBelow(turn: Turn, run: string, above: string): boolean {
  for (let id: string | null = run; id !== null; id = findRun(turn, id)?.parent ?? null)
    if (id === above) return true;
  return false;
}

/** Returns true if the messages of the turn contain the outcome: as the result of a call of the main run. */
export function hasResult(turn: Turn, id: string): boolean {
  const main = mainRun(turn)?.id;
  const blocks = listBlocks(turn);
  // Most turns of a long conversation have no such request, and the search below is slow.
  if (!blocks.some((block) => "version" in block && interactionId(block) === id)) return false;
  return blocks.some(
    (block) =>
      block.kind === "tool_call" &&
      block.run === main &&
      findRequests(turn, block.call).some((request) => interactionId(request) === id),
  );
}

export function resultJson(outcome: InteractionOutcome): Json {
  return outcome.kind === "form" ? formResult(outcome) : paymentResult(outcome);
}

function formResult({ schema, status, values, reason }: FormOutcome): Json {
  const { title } = schema;
  switch (status) {
    case "submitted":
      return { form: title, status, values: formatFormValues(schema.fields, values ?? {}) };
    case "declined":
      return {
        form: title,
        status: "the user declined to fill it in",
        ...(reason === null ? {} : { reason }),
      };
    case "expired":
      return { form: title, status: "it was not submitted in time" };
    case "cancelled":
      return { form: title, status: "it was withdrawn" };
    case "pending":
      return { form: title, status: "the user has not filled it in" };
  }
}

const PAYMENT_STATUSES: Readonly<Record<PaymentBlock["status"], string>> = {
  pending: "pending: the user has not opened the checkout page",
  processing: "processing: the user has opened the checkout page, and nothing is paid yet as far as we know",
  succeeded: "succeeded: the payment provider has confirmed that it is paid",
  failed: "failed: the payment provider could not charge the user",
  cancelled: "cancelled: the user does not want to pay it",
  expired: "expired: it was not paid in time",
};

/** Prevents that the model asks the user to pay twice. */
const PAID_LATE =
  "The payment provider has since reported that it is paid after all. An operator looks into it, so don't ask the user to pay it again.";

function paymentResult(payment: PaymentOutcome): Json {
  const {
    description,
    order_no: order,
    amount,
    currency,
    status,
    refunded = 0,
    isPaidLate = false,
  } = payment;
  return {
    payment: description,
    order_no: order,
    amount: formatMoney("en", amount, currency),
    currency,
    status: PAYMENT_STATUSES[status],
    ...(refunded > 0 ? { refunded: formatMoney("en", refunded, currency) } : {}),
    ...(isPaidLate ? { note: PAID_LATE } : {}),
  };
}

export function toPaymentOutcome(payment: Payment): PaymentOutcome {
  const { description, orderNo, amount, currency, status, refundedAmount, flag, flagResolvedAt } = payment;
  return {
    kind: "payment",
    description,
    order_no: orderNo,
    amount,
    currency,
    status,
    refunded: refundedAmount,
    isPaidLate: flag === "late_success" && flagResolvedAt === null,
  };
}

/** Returns the filled-in values with labels, without empty fields. */
export function formatFormValues(
  fields: readonly FormField[],
  values: Readonly<Record<string, Json>>,
): { readonly name: string; readonly label: string; readonly value: Json }[] {
  return fields.flatMap((field) => {
    const value = Object.hasOwn(values, field.name) ? (values[field.name] ?? null) : null;
    if (value === null || value === "") return [];
    return [{ name: field.name, label: field.label, value: toLabels(field, value) }];
  });
}

function toLabels({ options = [] }: FormField, value: Json): Json {
  const labelOf = (choice: Json): Json => options.find((option) => option.value === choice)?.label ?? choice;
  return Array.isArray(value) ? (value as readonly Json[]).map(labelOf) : labelOf(value);
}
