/**
 * The sub-port for orders: what a payment request asks of a gateway, and what the gateway has said. An order and
 * its interaction always have the same status. Never talks to a gateway and never checks a signature.
 */
import type { Json } from "@turnstream/protocol";
import type { Interaction, InteractionChange } from "./interactions.ts";
import type { MismatchField, Money, PaymentStatus, PaymentUpdate } from "../rules/payments.ts";
import type { SessionRef } from "../refs.ts";

export interface NewOrder extends Money {
  readonly id: string;
  /** The payment's interaction, requested before or in the same transaction. */
  readonly interaction: string;
  /** Unique in the tenant. */
  readonly orderNo: string;
  readonly gateway: string;
  readonly description: string;
  /** From now, by the database's clock: when to give it up. */
  readonly expiresMs?: number;
  /** From now: when to ask the gateway for the first time. */
  readonly checkMs: number;
}

export interface Order extends Money {
  readonly tenant: string;
  readonly session: string;
  readonly id: string;
  readonly interaction: string;
  readonly orderNo: string;
  readonly gateway: string;
  readonly description: string;
  readonly status: PaymentStatus;
  /** The gateway's own number for it. */
  readonly gatewayRef: string | null;
  readonly createdAt: number;
  readonly changedAt: number | null;
  readonly expiresAt: number | null;
}

interface PaymentReport extends PaymentUpdate {
  readonly orderNo: string;
  readonly gatewayRef?: string;
  /** The person, where one cancelled it. */
  readonly by?: string;
  readonly reason?: string;
  /** What is noted with the change. */
  readonly body?: Json;
  /** Where it came from, as it came. Kept once. */
  readonly notice?: { readonly gateway: string; readonly event: string; readonly body: Json };
}

/** A success must say how much was paid. */
export type OrderTransition =
  | (PaymentReport & { readonly to: "succeeded"; readonly paid: Money })
  | (PaymentReport & { readonly to: Exclude<PaymentStatus, "pending" | "succeeded"> });

export type ApplyResult =
  /** It moved; two changes when it took two steps at once (success without a start). */
  | {
      readonly outcome: "won";
      readonly order: Order;
      readonly interaction: Interaction;
      readonly changes: readonly InteractionChange[];
    }
  /** It is there already, or beyond, or final. A success that lost to `cancelled` or `expired` is money to give back. */
  | { readonly outcome: "lost"; readonly order: Order }
  /** Another amount, currency or gateway than was ordered. Nothing changed. */
  | { readonly outcome: "mismatch"; readonly order: Order; readonly fields: readonly MismatchField[] }
  /** This notice was dealt with before. Nothing changed. */
  | { readonly outcome: "repeated"; readonly order: Order | null }
  /** The tenant has no such order (yet). The notice is kept, and a repeat of it is looked at anew. */
  | { readonly outcome: "unknown" };

export interface PaymentNotice {
  readonly gateway: string;
  readonly event: string;
  readonly orderNo: string;
  readonly outcome: ApplyResult["outcome"];
  readonly body: Json;
  readonly receivedAt: number;
}

export interface Payments {
  /**
   * Idempotent by id: a repeat of the same order gives what is there. Another order under the same id, order
   * number or interaction is EXISTS, an order for a request that was cancelled CONFLICT. Notices that came before it are its own from now on; see `notices`.
   */
  create(
    ref: SessionRef,
    order: NewOrder,
  ): Promise<{ readonly created: boolean; readonly order: Order; readonly early: readonly PaymentNotice[] }>;
  /** Forward only, whatever comes in whatever order and however often. Order, interaction and notice in one. */
  apply(tenant: string, move: OrderTransition): Promise<ApplyResult>;
  get(ref: SessionRef, id: string): Promise<Order | null>;
  byOrderNo(tenant: string, orderNo: string): Promise<Order | null>;
  /** The newest of them, at most 1000, oldest first. */
  notices(ref: SessionRef, orderNo: string): Promise<PaymentNotice[]>;
  /**
   * Of all tenants: orders that aren't final and whose gateway should be asked. Each is given out once; it comes
   * again after `againMs`. `overdue`: it can be given up, if the gateway agrees.
   */
  stale(page: {
    readonly limit: number;
    readonly againMs: number;
  }): Promise<(Order & { readonly overdue: boolean })[]>;
  /** Forgets notices of orders that never came. */
  pruneNotices(page: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

export const MAX_NOTICE_BYTES = 256 * 1024;
