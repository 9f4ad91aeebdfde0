/**
 * What word of a payment does to its order: which steps it takes, or why it takes none. Pure.
 * Never goes back, and never takes another amount or currency than was ordered.
 */
import type { PaymentBlock } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";

export type PaymentStatus = PaymentBlock["status"];

/** In the smallest unit that the gateway takes for the currency. */
export interface Money {
  readonly amount: number;
  readonly currency: string;
}

export type MismatchField = "amount" | "currency" | "gateway";

/** What the rules look at. */
export interface Payable extends Money {
  readonly status: PaymentStatus;
  readonly gateway: string;
}

export interface PaymentUpdate {
  readonly to: Exclude<PaymentStatus, "pending">;
  /** What was paid, as the gateway says. */
  readonly paid?: Money;
  readonly gateway?: string;
}

export type PaymentResolution =
  | { readonly outcome: "won"; readonly steps: readonly PaymentStatus[] }
  | { readonly outcome: "lost" }
  | { readonly outcome: "mismatch"; readonly fields: readonly MismatchField[] };

export function resolvePayment(order: Payable, word: PaymentUpdate): PaymentResolution {
  const fields = mismatches(order, word);
  // Looked at first: a wrong amount must be noticed even where it changes nothing.
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
 * The fewest steps that lead there, without the start; null when none do. A gateway may tell of success
 * without having told that it began, and readers of the log are still shown both.
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
