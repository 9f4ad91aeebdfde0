/** `payment` writes logs of payments, which outlive their turn, in every state and several currencies. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { EventOf } from "@turnstream/protocol";
import { pieces, story } from "./writing.ts";

type Request = EventOf<"payment.request">;
type Order = Pick<Request, "order_no" | "amount" | "currency" | "description">;
type Update = Pick<EventOf<"payment.update">, "status" | "by" | "reason">;

const ADVICE: Order = {
  order_no: "TS4QK7M2VXA3ZDH6NPB5WC9RT1",
  amount: 1200,
  currency: "TWD",
  description: "Advice, one year",
};

export const dollars: Order = { ...ADVICE, amount: 123_450, currency: "USD", description: "Data feed" };
export const dong: Order = { ...ADVICE, amount: 1_250_000_000, currency: "VND", description: "Membership" };
export const dinar: Order = { ...ADVICE, amount: 12_500, currency: "KWD", description: "Report" };
export const longTexts: Order = {
  ...ADVICE,
  order_no: "TS20270115-0042-CONSULTATION-AND-FOLLOW-UP-APPOINTMENTS-SPRING",
  amount: 123_456_789_012,
  description:
    "Deposit for the first consultation and three follow-up appointments with the same specialist, including the " +
    "laboratory report and its translation",
};

interface PaymentOptions {
  readonly order?: Order;
  /** @default half an hour */
  readonly expiresMs?: number | null;
}

export function payment(
  updates: readonly Update[] = [],
  { order = ADVICE, expiresMs = 1_800_000 }: PaymentOptions = {},
): Story {
  const log = story("I take the advice for a year.");
  log.text(pieces("Good choice. You can pay here:"));
  const on = log.place();
  log.add({
    type: "payment.request",
    ...on,
    payment: "pay_1",
    ...order,
    checkout_url: "https://pay.example/checkout/pay_1",
    ...(expiresMs === null ? {} : { deadline: log.now + expiresMs }),
  });
  log.end("requires_interaction");
  for (const [n, update] of updates.entries())
    log.wait(20).add({ type: "payment.update", ...on, version: n + 1, ...update });
  return log;
}
