/**
 * `preparePayment` makes the event that asks for a payment, with its order number and checkout URL. `commitPayment`
 * commits the payment from the written block.
 *
 * Invariant: the interaction and the order are one commit, and follow from the block and the journal alone. A takeover
 * between the write and the commit therefore repeats the commit with the same order number and token. No provider is
 * called: the checkout does that when the user opens it.
 */
import type { PaymentBlock } from "@turnstream/protocol";
import {
  checkoutUrl,
  createCheckoutToken,
  createOrderNo,
  hashCheckoutToken,
  readCheckoutToken,
} from "../../payments/checkout-link.ts";
import { DEFAULT_QUERY_AFTER_MS } from "../../payments/payment-options.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { paymentKey } from "../attempt/journal-entries.ts";
import type { RequestedPayment } from "../define/payment.ts";
import type { BlockDraft } from "../events/turn-writer.ts";
import { commitRequest } from "./await-decision.ts";

type PaymentDraft = Omit<Extract<BlockDraft, { readonly type: "payment.request" }>, "run" | "call">;

/** Journals what the event doesn't contain, so that a later attempt can commit the payment from its block. */
export async function preparePayment(
  attempt: TurnAttempt,
  id: string,
  { description, amount, currency, provider, continues }: RequestedPayment,
): Promise<PaymentDraft> {
  const { env, payments } = attempt.context;
  if (payments === null) throw new Error(`payment ${id} needs the option \`payments\` of the worker`);
  await attempt.journal(paymentKey(id), { provider, continues });
  return {
    type: "payment.request",
    payment: id,
    order_no: createOrderNo(env),
    amount,
    currency,
    description,
    checkout_url: checkoutUrl(payments.publicUrl, createCheckoutToken(env)),
    deadline: env.now() + payments.expiresMs,
  };
}

/** Commits a payment that is in the log. Repeating it changes nothing. */
export async function commitPayment(attempt: TurnAttempt, block: PaymentBlock): Promise<void> {
  const { context, ref, turn, locale } = attempt;
  const { env, payments } = context;
  const { payment: id, order_no: orderNo, amount, currency, description, deadline } = block;
  const token = readCheckoutToken(block.checkout_url);
  const journaled = attempt.fromJournal(paymentKey(id));
  if (token === null || deadline === null || journaled === undefined)
    throw new Error(`payment ${id} must have a checkout token, a deadline and a journal entry`);
  const { agent, mode } = turn;
  await commitRequest(
    attempt,
    block,
    { description, amount, currency, order_no: orderNo, checkout_url: block.checkout_url },
    {
      alsoCommit: async (tx) => {
        await tx.payments.create(ref, {
          id,
          orderNo,
          tokenHash: hashCheckoutToken(token),
          amount,
          currency,
          description,
          locale,
          agent,
          mode,
          ...journaled,
          expiresMs: Math.max(1, deadline - env.now()),
          queryAfterMs: payments?.queryAfterMs ?? DEFAULT_QUERY_AFTER_MS,
        });
      },
    },
  );
}
