/**
 * `describeChanges` builds the rows that an input adds to the changes of a payment, and the new fields of the payment.
 * Pure.
 *
 * Invariant: both stores record exactly these rows: one per effect, each with the evidence. Only the last row has the
 * provider's event, because an event is unique within a payment. Raw bodies are not recorded.
 */
import type { Payment } from "./payments-part.ts";
import type { PaymentChange } from "./payment-transitions.ts";
import {
  INPUT_ACTORS,
  type PaymentEffect,
  type PaymentInput,
  type PaymentResolution,
} from "./payment-transitions.ts";

type RecordedResolution = Exclude<PaymentResolution, { readonly outcome: "unchanged" }>;

/** A row before it has its number, and what the input stated. */
type Step = Pick<PaymentChange, "outcome" | "from" | "to">;

export function describeChanges(
  payment: Payment,
  input: PaymentInput,
  resolution: RecordedResolution,
  { n, at }: { readonly n: number; readonly at: number },
): { readonly changed: Payment; readonly recorded: readonly PaymentChange[] } {
  const steps = listSteps(payment, resolution);
  const report = "event" in input ? input : null;
  const { paid = null } = report ?? {};
  const recorded = steps.map((step, index): PaymentChange => ({
    n: n + index,
    actor: INPUT_ACTORS[input.type],
    by: ("by" in input ? input.by : undefined) ?? null,
    input: input.type,
    ...step,
    at,
    evidenceHash: report?.evidenceHash ?? null,
    provider: report?.provider ?? null,
    event: index === steps.length - 1 ? (report?.event ?? null) : null,
    paid: paid === null ? null : { amount: paid.amount, currency: paid.currency },
    providerRef: report?.providerRef ?? null,
    reason: report?.reason ?? null,
  }));
  return { changed: changePayment(payment, resolution, steps, report?.providerRef ?? null, at), recorded };
}

function listSteps({ status }: Payment, resolution: RecordedResolution): Step[] {
  if (resolution.outcome === "mismatch") return [{ outcome: "mismatch", from: status, to: status }];
  let from = status;
  return resolution.effects.map((effect): Step => {
    if (!isStatus(effect)) return { outcome: effect, from, to: from };
    const step = { outcome: "changed", from, to: effect } as const;
    from = effect;
    return step;
  });
}

function isStatus(effect: PaymentEffect): effect is Payment["status"] {
  return effect !== "flagged" && effect !== "refunded";
}

function changePayment(
  payment: Payment,
  resolution: RecordedResolution,
  steps: readonly Step[],
  reportedRef: string | null,
  at: number,
): Payment {
  const unresolved = { flaggedAt: at, flagResolvedAt: null, flagResolvedBy: null, flagNote: null };
  // A report that doesn't fit the order must not change anything else, not even the provider's number.
  if (resolution.outcome === "mismatch") return { ...payment, flag: resolution.flag, ...unresolved };
  const { effects, refundedAmount } = resolution;
  const status = steps.at(-1)?.to ?? payment.status;
  return {
    ...payment,
    refundedAmount,
    // The first number stays: the provider is asked with it.
    providerRef: payment.providerRef ?? reportedRef,
    ...(status === payment.status ? {} : { status, changedAt: at }),
    ...(effects.includes("flagged") ? { flag: "late_success", ...unresolved } : {}),
  };
}
