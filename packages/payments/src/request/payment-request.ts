/**
 * `paymentRequest` is the kind of request that asks the user to pay. A tool of the model, a tool of the app or a stream
 * agent makes it, and it ends the turn. The status of the payment is the result of the call in later turns.
 *
 * Invariant: a payment that no provider can charge never reaches the user. The interaction and the order are one commit,
 * and follow from the block and the journal alone, so a takeover between the write and the commit repeats it with the
 * same order number and token. No provider is called: the checkout does that when the user opens it.
 */
import { type Json, localeFallbacks, type PaymentBlock } from "@turnstream/protocol";
import { MAX_LABEL } from "@turnstream/protocol/writer";
import {
  asJsonObject,
  type JournalKey,
  type JsonSchema,
  type RequestHost,
  type RequestKind,
} from "@turnstream/server/internal";
import {
  checkoutUrl,
  createCheckoutToken,
  createOrderNo,
  hashCheckoutToken,
  readCheckoutToken,
} from "../checkout-link.ts";
import type { ResolvedPaymentOptions } from "../payment-options.ts";
import { paymentsOf } from "../store/payments-of.ts";
import { parsePayment, type RequestedPayment } from "./parse-payment.ts";
import {
  describePayment,
  type PaymentOutcome,
  paymentResult,
  readPaymentNote,
  toPaymentOutcome,
} from "./payment-outcome.ts";

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

/** What the event of a payment doesn't contain, so that a later attempt can commit the payment from its block. */
const paymentKey = (id: string): JournalKey<Pick<RequestedPayment, "provider" | "continues">> =>
  `payment/${id}`;

/** Users see it as the result of a call whose tool requested a payment, also after the payment. */
const REQUESTED: Readonly<Record<string, string>> = {
  en: "This needs a payment.",
  vi: "Việc này cần thanh toán.",
  "zh-CN": "此步骤需要付款。",
  "zh-TW": "此步驟需要付款。",
};

export function paymentRequest(options: ResolvedPaymentOptions): RequestKind {
  return {
    kind: "payment",
    tool: {
      name: "request_payment",
      description:
        "Asks the user to pay. Your turn ends with it, and the status of the payment is the result of this call.",
      input: PAYMENT_SCHEMA,
      parse(input) {
        const { description, amount, currency, continue_after: continueAfter } = asJsonObject(input);
        const read = parsePayment({ description, amount, currency, continueAfter }, options);
        return read.ok ? read : { ok: false, problem: `The payment is invalid: ${read.problem}.` };
      },
    },
    shown: "The payment is shown to the user. Its status will be the result of this call.",
    continued: "(The status of the payment has changed.)",
    preview({ locale }) {
      const tag = localeFallbacks(locale).find((found) => Object.hasOwn(REQUESTED, found)) ?? "en";
      return REQUESTED[tag] ?? "";
    },
    idFor: (turn, call) => (typeof call === "number" ? `pay_${turn}.${call}` : `pay_${turn}_${call}`),
    draft: (host, id, request) => draftPayment(host, id, request as RequestedPayment, options),
    stored: (host, block) => storedPayment(host, block as PaymentBlock, options),
    parse: (spec) => parsePayment(asJsonObject(spec as Json), options),
    isSame(block, request) {
      const known = block as PaymentBlock;
      const { description, amount, currency } = request as RequestedPayment;
      return known.description === description && known.amount === amount && known.currency === currency;
    },
    // A payment can be refunded after its final status.
    canChange: () => true,
    async readOutcome(store, ref, { id }) {
      const payment = await paymentsOf(store).get(ref, id);
      return payment === null ? null : toPaymentOutcome(payment);
    },
    resultJson: (outcome) => paymentResult(outcome as PaymentOutcome),
    describe: (outcome) => [describePayment(outcome as PaymentOutcome)],
    note: readPaymentNote,
  };
}

async function draftPayment(
  host: RequestHost,
  id: string,
  { description, amount, currency, provider, continues }: RequestedPayment,
  { publicUrl, expiresMs }: ResolvedPaymentOptions,
) {
  const { env } = host.context;
  await host.journal(paymentKey(id), { provider, continues });
  return {
    type: "payment.request",
    payment: id,
    order_no: createOrderNo(env),
    amount,
    currency,
    description,
    checkout_url: checkoutUrl(publicUrl, createCheckoutToken(env)),
    deadline: env.now() + expiresMs,
  } as const;
}

function storedPayment(
  host: RequestHost,
  block: PaymentBlock,
  { queryAfterMs }: ResolvedPaymentOptions,
): ReturnType<RequestKind["stored"]> {
  const { ref, turn, locale, context } = host;
  const { payment: id, order_no, amount, currency, description, deadline, checkout_url } = block;
  const token = readCheckoutToken(checkout_url);
  const journaled = host.fromJournal(paymentKey(id));
  if (token === null || deadline === null || journaled === undefined)
    throw new Error(`payment ${id} must have a checkout token, a deadline and a journal entry`);
  const { agent, mode } = turn;
  return {
    request: { description, amount, currency, order_no, checkout_url },
    alsoCommit: async (tx) => {
      await paymentsOf(tx).create(ref, {
        id,
        orderNo: order_no,
        tokenHash: hashCheckoutToken(token),
        amount,
        currency,
        description,
        locale,
        agent,
        mode,
        ...journaled,
        expiresMs: Math.max(1, deadline - context.env.now()),
        queryAfterMs,
      });
    },
  };
}
