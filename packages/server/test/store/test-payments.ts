/** Creates payments in a store, the inputs that change them, and checks of what was recorded. */
import { createHash } from "node:crypto";
import { type Payment, type PaymentChange, paymentsOf } from "@turnstream/payments";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import { expect } from "vitest";
import type { ApplyResult, NewPayment } from "../../../payments/src/store/payments-part.ts";
import type { PaymentInput, ReportInput } from "../../../payments/src/store/payment-transitions.ts";
import type { Store } from "../../src/store/store.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { unique } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";

type PaymentStore = Pick<Store, "interactions" | "use">;

export const MONEY = { amount: 1999, currency: "TWD" };
export const EVIDENCE = createHash("sha256").update("evidence").digest("hex");

export function aPayment(more: Partial<NewPayment> = {}): NewPayment {
  return {
    id: unique("payment"),
    orderNo: unique("order"),
    tokenHash: unique("token"),
    ...MONEY,
    provider: "newebpay",
    description: "Two tickets \0",
    locale: "zh-TW",
    continues: true,
    agent: "clinic",
    mode: "agent",
    expiresMs: 3_600_000,
    queryAfterMs: 60_000,
    ...more,
  };
}

export async function newPayment(
  store: PaymentStore,
  ref: SessionRef,
  more: Partial<NewPayment> = {},
): Promise<{ wanted: NewPayment; payment: Payment }> {
  const wanted = aPayment(more);
  await store.interactions.request(ref, anInteraction("payment", { id: wanted.id }));
  const { payment } = await paymentsOf(store).create(ref, wanted);
  return { wanted, payment };
}

export function aReport(type: ReportInput["type"], more: Partial<ReportInput> = {}): ReportInput {
  return {
    type,
    provider: "newebpay",
    paid: type === "succeeded" || type === "refunded" ? MONEY : null,
    providerRef: null,
    event: unique("event"),
    reason: null,
    evidenceHash: EVIDENCE,
    ...more,
  };
}

/** Each input as a user, a provider or a timer can cause it. */
export function inputsOf(orderNo: string): PaymentInput[] {
  const event = (name: string) => ({ event: `${orderNo}/${name}` });
  return [
    { type: "checkout_opened" },
    aReport("processing", event("began")),
    aReport("succeeded", event("paid")),
    aReport("succeeded", { ...event("asked"), evidenceHash: null }),
    aReport("succeeded", { ...event("wrong"), paid: { ...MONEY, amount: 1 } }),
    aReport("failed", event("failed")),
    aReport("refunded", { ...event("back"), paid: { ...MONEY, amount: 500 } }),
    { type: "expire" },
    { type: "cancel", by: "an" },
  ];
}

/** Whatever inputs were applied: statuses only go forward, every change has its row, and no row is lost. */
export async function checkHistory(
  store: PaymentStore,
  ref: SessionRef,
  id: string,
  results: readonly ApplyResult[],
): Promise<PaymentChange[]> {
  const rows = await paymentsOf(store).changes(ref, id);
  expect(rows.map(({ n }) => n)).toEqual(rows.map((_, at) => at + 1));
  const steps = rows.filter(({ outcome }) => outcome === "changed");
  const path = ["pending", ...steps.map(({ to }) => to)];
  expect(steps.map(({ from }) => from)).toEqual(path.slice(0, -1));
  for (const [at, status] of path.slice(1).entries())
    expect(TRANSITIONS.payment[path[at] ?? ""]).toContain(status);
  expect(path.filter((status) => status === "succeeded").length).toBeLessThanOrEqual(1);
  const recorded = results.flatMap((result) => ("recorded" in result ? result.recorded : []));
  expect(recorded.toSorted((a, b) => a.n - b.n)).toEqual(rows);
  const payment = await paymentsOf(store).get(ref, id);
  expect(payment?.status).toBe(path.at(-1));
  const interaction = await store.interactions.get(ref, id);
  expect(interaction).toMatchObject({ status: path.at(-1), version: steps.length });
  expect((await store.interactions.changes(ref, id)).map(({ status }) => status)).toEqual(path.slice(1));
  return rows;
}
