/**
 * `Payments` is the part of the store for payments: the orders at payment providers, their changes, and the flags that
 * operators resolve. `payments-sql.ts` implements it.
 *
 * Invariant: a payment and its interaction always have the same status, and only `apply` changes it, by the rules of
 * `payment-transitions.ts`. Whatever changes or is recorded has a row in `changes`. Does not call a provider. Add the event
 * to the outbox in the same transaction.
 */
import type { Money } from "../provider.ts";
import {
  checkCount,
  checkDuration,
  checkId,
  checkIds,
  type Interaction,
  type InteractionChange,
  type SessionRef,
  StoreError,
} from "@turnstream/server/internal";
import type {
  PaymentStatus,
  PaymentFlag,
  PaymentChange,
  MismatchField,
  PaymentInput,
} from "./payment-transitions.ts";

export interface NewPayment extends Money {
  /** The id of its interaction, requested before or in the same transaction. Unique in the tenant. */
  readonly id: string;
  /** Unique in the store, because a provider's notification names only the order. */
  readonly orderNo: string;
  /** SHA-256 of the checkout token in hex. Unique in the store. */
  readonly tokenHash: string;
  readonly provider: string;
  readonly description: string;
  /** Language of the checkout page. */
  readonly locale: string;
  /** True if the final status starts the next turn. */
  readonly continues: boolean;
  /** The agent and the mode of the next turn. */
  readonly agent: string | null;
  readonly mode: "agent" | "chat" | null;
  /** When the payment expires, in milliseconds from now by the database's clock. */
  readonly expiresMs: number;
  /** When `due` first returns a `processing` payment, in milliseconds since it became that. At least 1. */
  readonly queryAfterMs: number;
}

export interface Payment extends Money {
  readonly tenant: string;
  readonly session: string;
  readonly id: string;
  /** Increases with every payment in the store. Pages are ordered by it. */
  readonly n: number;
  readonly orderNo: string;
  readonly provider: string;
  /** The provider's own number for the order. */
  readonly providerRef: string | null;
  readonly description: string;
  readonly locale: string;
  readonly continues: boolean;
  readonly agent: string | null;
  readonly mode: "agent" | "chat" | null;
  readonly status: PaymentStatus;
  readonly refundedAmount: number;
  readonly createdAt: number;
  readonly changedAt: number | null;
  readonly expiresAt: number;
  readonly flag: PaymentFlag | null;
  readonly flaggedAt: number | null;
  readonly flagResolvedAt: number | null;
  /** Identifies the operator, such as the id of an API key. */
  readonly flagResolvedBy: string | null;
  readonly flagNote: string | null;
}

export type ApplyResult =
  | {
      /** That of the last row. */
      readonly outcome: PaymentChange["outcome"];
      readonly payment: Payment;
      readonly interaction: Interaction;
      /** The new rows: one per step, flag and refund. */
      readonly recorded: readonly PaymentChange[];
      /** The changes of the interaction: one per step, none if the status stayed. */
      readonly changes: readonly InteractionChange[];
      /** What differs from the order. Empty unless the outcome is `mismatch`. */
      readonly fields: readonly MismatchField[];
    }
  /** A repeat, or a report about an earlier status. Nothing was recorded. */
  | { readonly outcome: "unchanged"; readonly payment: Payment }
  /** No such order, or it was erased. */
  | { readonly outcome: "unknown" };

export interface PaymentPage {
  /** The `n` of the last payment of the previous page. */
  readonly before?: number;
  /** 1 to 1000. @default 100 */
  readonly limit?: number;
}

export interface FlagResolution {
  /** Identifies the operator, such as the id of an API key. */
  readonly by: string;
  /** At most 2,000 characters. */
  readonly note: string;
}

export interface Payments {
  /**
   * Creates a payment. Idempotent by id: a repeat of the same payment returns the stored one.
   * @throws StoreError with EXISTS for another payment under the same id, order number or token, with NOT_FOUND without
   *   its interaction, with INVALID if that is not a payment.
   */
  create(
    ref: SessionRef,
    payment: NewPayment,
  ): Promise<{ readonly created: boolean; readonly payment: Payment }>;
  /**
   * Applies an input to the payment and its interaction in one step, by the transition table. The status only moves
   * forward, in whatever order and however often inputs arrive. A provider's event counts once per payment.
   */
  apply(orderNo: string, input: PaymentInput): Promise<ApplyResult>;
  get(ref: SessionRef, id: string): Promise<Payment | null>;
  getInTenant(tenant: string, id: string): Promise<Payment | null>;
  /** For the checkout page, whose visitor has only the token. */
  byToken(tokenHash: string): Promise<Payment | null>;
  /** For a provider's notification, which names only the order. */
  byOrderNo(orderNo: string): Promise<Payment | null>;
  /** Returns the newest payments first. */
  list(ref: SessionRef, page?: PaymentPage): Promise<Payment[]>;
  /** Returns the oldest 1,000 changes, oldest first. */
  changes(ref: SessionRef, id: string): Promise<PaymentChange[]>;
  /** Returns payments with an unresolved flag, newest payments first. */
  flagged(tenant: string, page?: PaymentPage): Promise<Payment[]>;
  /**
   * Resolves the flag. The first resolution stays.
   * @returns null if the tenant has no such payment. `resolved` is false if it has no unresolved flag.
   */
  resolveFlag(
    tenant: string,
    id: string,
    resolution: FlagResolution,
  ): Promise<{ readonly resolved: boolean; readonly payment: Payment } | null>;
  /**
   * Returns payments of all tenants that should be checked: `processing` ones whose provider should be asked, `overdue`
   * ones to expire, and ones that expired while they were `processing`. Each is returned to one caller, and again after
   * a time that doubles.
   */
  due(query: { readonly limit: number }): Promise<(Payment & { readonly overdue: boolean })[]>;
  /** Returns true for one caller per `everyMs`, who may then ask the provider about the payment. */
  claimQuery(ref: SessionRef, id: string, everyMs: number): Promise<boolean>;
  /** Stores the provider's number for the order. The first one stays. */
  setProviderRef(ref: SessionRef, id: string, providerRef: string): Promise<void>;
}

export const MAX_PAYMENT_CHANGES = 1_000;

export function checkPayment(payment: NewPayment): void {
  const { id, orderNo, tokenHash, provider, locale, agent } = payment;
  checkIds({ id, orderNo, tokenHash, provider, locale, agent: agent ?? undefined }, "payment");
  checkDuration(payment.expiresMs, "payment expiresMs");
  if (checkDuration(payment.queryAfterMs, "payment queryAfterMs") === 0)
    throw new StoreError("INVALID", "payment queryAfterMs must be at least 1, got 0");
  if (checkCount(payment.amount, "payment amount") === 0)
    throw new StoreError("INVALID", "payment amount must be at least 1, got 0");
  if (!/^[A-Z]{3}$/.test(payment.currency))
    throw new StoreError("INVALID", "payment currency must be three letters A-Z");
}

/** Longer texts of a provider are refused; adapters cut them. */
const MAX_EVENT_LENGTH = 200;

export const MAX_REASON_LENGTH = 500;

export function checkPaymentInput(input: PaymentInput): void {
  if ("by" in input) checkIds({ by: input.by }, "payment");
  if (!("event" in input)) return;
  const { type, paid, provider, providerRef, event, reason, evidenceHash } = input;
  checkIds({ provider, providerRef: providerRef ?? undefined, event }, "report");
  if (event.length > MAX_EVENT_LENGTH)
    throw new StoreError("INVALID", `report event must have at most ${MAX_EVENT_LENGTH} characters`);
  if ((reason ?? "").length > MAX_REASON_LENGTH)
    throw new StoreError("INVALID", `report reason must have at most ${MAX_REASON_LENGTH} characters`);
  if (evidenceHash !== null && !/^[0-9a-f]{64}$/.test(evidenceHash))
    throw new StoreError("INVALID", "report evidenceHash must be a SHA-256 in hex");
  if (paid === null && (type === "succeeded" || type === "refunded"))
    throw new StoreError("INVALID", `a ${type} report must have a paid amount`);
  if (paid === null) return;
  checkCount(paid.amount, "report amount");
  checkId(paid.currency, "report currency");
}

const MAX_NOTE_LENGTH = 2_000;

export function checkFlagResolution({ by, note }: FlagResolution): void {
  checkId(by, "operator");
  if (note.length > MAX_NOTE_LENGTH)
    throw new StoreError("INVALID", `note must have at most ${MAX_NOTE_LENGTH} characters`);
}
