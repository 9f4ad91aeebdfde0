/**
 * `resolvePayment` decides which steps an order takes after a report about its payment, or why it takes none. Pure.
 *
 * Invariant: an order never returns to an earlier status, and never accepts an amount or currency other than the
 * ordered one.
 */
import type { PaymentBlock } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";

export type PaymentStatus = PaymentBlock["status"];

/** An amount in the smallest unit that the gateway accepts for the currency. */
export interface Money {
  readonly amount: number;
  readonly currency: string;
}

export type MismatchField = "amount" | "currency" | "gateway";

/** The fields of an order that the rules use. */
export interface Payable extends Money {
  readonly status: PaymentStatus;
  readonly gateway: string;
}

export interface PaymentUpdate {
  readonly to: Exclude<PaymentStatus, "pending">;
  /** The paid amount that the gateway reports. */
  readonly paid?: Money;
  readonly gateway?: string;
}

export type PaymentResolution =
  | { readonly outcome: "won"; readonly steps: readonly PaymentStatus[] }
  | { readonly outcome: "lost" }
  | { readonly outcome: "mismatch"; readonly fields: readonly MismatchField[] };

export function resolvePayment(order: Payable, word: PaymentUpdate): PaymentResolution {
  const fields = mismatches(order, word);
  // Checked first: a wrong amount must be reported even if the status would not change.
  if (fields.length > 0) return { outcome: "mismatch", fields };
  const steps = stepsTo(order.status, word.to);
  return steps === null ? { outcome: "lost" } : { outcome: "won", steps };
}

function mismatches(order: Payable, { paid, gateway }: PaymentUpdate): MismatchField[] {
  const fields: MismatchField[] = [];
  if (paid !== undefined && paid.amount !== order.amount) fields.push("amount");
  if (paid !== undefined && paid.currency !== order.currency) fields.push("currency");
  if (gateway !== undefined && gateway !== order.gateway) fields.push("gateway");
  return fields;
}

export function isFinalPayment(status: PaymentStatus): boolean {
  return !Object.hasOwn(TRANSITIONS.payment, status);
}

/**
 * Returns the shortest path of statuses, without the start, or null if there is none. A gateway may report success
 * without having reported the start. Readers of the log still get both steps.
 */
function stepsTo(from: PaymentStatus, to: PaymentStatus): PaymentStatus[] | null {
  let paths: PaymentStatus[][] = [[from]];
  const seen = new Set<PaymentStatus>([from]);
  while (paths.length > 0) {
    const longer: PaymentStatus[][] = [];
    for (const path of paths) {
      for (const next of (TRANSITIONS.payment[path.at(-1) ?? from] ?? []) as PaymentStatus[]) {
        if (next === to) return [...path.slice(1), next];
        if (seen.has(next)) continue;
        seen.add(next);
        longer.push([...path, next]);
      }
    }
    paths = longer;
  }
  return null;
}
