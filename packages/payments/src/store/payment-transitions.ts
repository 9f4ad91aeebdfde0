/**
 * `resolvePayment` decides what an input does to a payment, by the transition table `PAYMENT_TABLE`. Pure.
 *
 * Invariant: a payment never returns to an earlier status, succeeds at most once, and never accepts an amount, currency
 * or provider other than the ordered one. The steps of the table are allowed by `TRANSITIONS` of the protocol.
 * docs/payments.md shows the same table, and a test compares them.
 */
import type { PaymentBlock } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import type { ProviderReport, Money } from "../provider.ts";

export type PaymentStatus = PaymentBlock["status"];

/** A provider's report about a payment, with what is recorded about it. */
export interface ReportInput extends Omit<ProviderReport, "orderNo" | "status"> {
  readonly type: ProviderReport["status"];
  readonly provider: string;
  /** SHA-256 of the raw bytes in hex; null if the provider was asked. */
  readonly evidenceHash: string | null;
}

export type PaymentInput =
  | {
      readonly type: "checkout_opened" | "cancel";
      /** The user's id, if it is known. */
      readonly by?: string;
    }
  /** Has no effect before the payment's expiry time. */
  | { readonly type: "expire" }
  | ReportInput;

export type PaymentInputType = PaymentInput["type"];

export type PaymentActor = "user" | "provider" | "server";

export const INPUT_ACTORS: Readonly<Record<PaymentInputType, PaymentActor>> = {
  checkout_opened: "user",
  processing: "provider",
  succeeded: "provider",
  failed: "provider",
  refunded: "provider",
  cancel: "user",
  expire: "server",
};

/**
 * - `late_success`: the provider reports a success after the payment failed, was cancelled or had expired.
 * - `mismatch`: the provider reports another amount or currency, or another provider reports about the order.
 */
export type PaymentFlag = "late_success" | "mismatch";

export type MismatchField = "amount" | "currency" | "provider";

/** The fields of a payment that the rules use. */
export interface PaymentState extends Money {
  readonly status: PaymentStatus;
  readonly provider: string;
  readonly refundedAmount: number;
  readonly flag: PaymentFlag | null;
  /** True once the expiry time has passed. */
  readonly isOverdue: boolean;
}

/** A step to a status, a flag `late_success`, or a recorded refund. */
export type PaymentEffect = PaymentStatus | "flagged" | "refunded";

/** What an input does, in this order. Empty: nothing changes and nothing is recorded. */
type Effects = readonly PaymentEffect[];

const CLOSED: Readonly<Record<PaymentInputType, Effects>> = {
  checkout_opened: [],
  processing: [],
  succeeded: ["flagged"],
  failed: [],
  refunded: ["flagged", "refunded"],
  cancel: [],
  expire: [],
};

/**
 * What each input does in each status. A success without a start takes both steps, for the readers of the log. A refund
 * implies a success: reports arrive in any order, and a provider that is asked late may report only the refund.
 */
export const PAYMENT_TABLE: Readonly<Record<PaymentStatus, Readonly<Record<PaymentInputType, Effects>>>> = {
  pending: {
    checkout_opened: ["processing"],
    processing: ["processing"],
    succeeded: ["processing", "succeeded"],
    failed: ["processing", "failed"],
    refunded: ["processing", "succeeded", "refunded"],
    cancel: ["cancelled"],
    expire: ["expired"],
  },
  processing: {
    checkout_opened: [],
    processing: [],
    succeeded: ["succeeded"],
    failed: ["failed"],
    refunded: ["succeeded", "refunded"],
    cancel: [],
    expire: ["expired"],
  },
  succeeded: { ...CLOSED, succeeded: [], refunded: ["refunded"] },
  failed: CLOSED,
  cancelled: CLOSED,
  expired: CLOSED,
};

export type PaymentResolution =
  | {
      readonly outcome: "applied";
      /** At least one. */
      readonly effects: Effects;
      /** The sum of all refunds after the input. */
      readonly refundedAmount: number;
    }
  /** A repeat, or a report about an earlier status. Nothing is recorded. */
  | { readonly outcome: "unchanged" }
  /** The report doesn't fit the order. It is recorded and flagged, and has no other effect. */
  | { readonly outcome: "mismatch"; readonly flag: PaymentFlag; readonly fields: readonly MismatchField[] };

export function resolvePayment(payment: PaymentState, input: PaymentInput): PaymentResolution {
  // Checked first: a wrong amount must be reported even if the status would not change.
  const fields = "provider" in input ? findMismatches(payment, input) : [];
  if (fields.length > 0) return { outcome: "mismatch", flag: payment.flag ?? "mismatch", fields };
  if (input.type === "expire" && !payment.isOverdue) return { outcome: "unchanged" };
  const { refundedAmount: before } = payment;
  const refundedAmount = input.type === "refunded" ? (input.paid?.amount ?? 0) : before;
  // The provider reports the sum of all refunds, and an earlier sum can arrive later.
  if (input.type === "refunded" && refundedAmount <= before) return { outcome: "unchanged" };
  // An order succeeds once at its provider, so another report of its success is a repeat.
  const effects = PAYMENT_TABLE[payment.status][input.type].filter(
    (effect) => effect !== "flagged" || payment.flag !== "late_success",
  );
  return effects.length === 0 ? { outcome: "unchanged" } : { outcome: "applied", effects, refundedAmount };
}

/** A row of a payment's changes, before it has what the input stated. */
export type PaymentStep = Pick<PaymentChange, "outcome" | "from" | "to">;

/** Returns a step for each effect, or the one of a report that doesn't fit the order. */
export function listSteps(
  status: PaymentStatus,
  resolution: Exclude<PaymentResolution, { readonly outcome: "unchanged" }>,
): PaymentStep[] {
  if (resolution.outcome === "mismatch") return [{ outcome: "mismatch", from: status, to: status }];
  let from = status;
  return resolution.effects.map((effect): PaymentStep => {
    if (!isStatus(effect)) return { outcome: effect, from, to: from };
    const step = { outcome: "changed", from, to: effect } as const;
    from = effect;
    return step;
  });
}

export function isStatus(effect: PaymentEffect): effect is PaymentStatus {
  return effect !== "flagged" && effect !== "refunded";
}

function findMismatches(
  payment: PaymentState,
  { type, paid, provider }: Pick<ReportInput, "type" | "paid" | "provider">,
): MismatchField[] {
  const fields: MismatchField[] = [];
  if (paid !== null) {
    // A refund may be partial, but can't exceed the payment.
    const isAmountRight =
      type === "refunded" ? paid.amount <= payment.amount : paid.amount === payment.amount;
    if (!isAmountRight) fields.push("amount");
    if (paid.currency !== payment.currency) fields.push("currency");
  }
  if (provider !== payment.provider) fields.push("provider");
  return fields;
}

export function isFinalPayment(status: PaymentStatus): boolean {
  return !Object.hasOwn(TRANSITIONS.payment, status);
}

/** One step, flag or refund of a payment. */
export interface PaymentChange {
  /** 1, 2, 3 … within the payment. */
  readonly n: number;
  readonly actor: PaymentActor;
  /** The user, if it is known and was not erased. */
  readonly by: string | null;
  readonly input: PaymentInputType;
  readonly outcome: "changed" | "mismatch" | "flagged" | "refunded";
  readonly from: PaymentStatus;
  readonly to: PaymentStatus;
  readonly at: number;
  /** SHA-256 of the provider's raw bytes in hex; null if there were none. */
  readonly evidenceHash: string | null;
  /** Of a provider's report: the provider, its event, and what it stated. */
  readonly provider: string | null;
  readonly event: string | null;
  readonly paid: Money | null;
  readonly providerRef: string | null;
  readonly reason: string | null;
}
