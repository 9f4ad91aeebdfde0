/**
 * `Payments` is the sub-port of orders: the requests to a payment gateway, and the gateway's reports about them.
 *
 * Invariant: an order and its interaction always have the same status. Does not call a gateway and does not verify
 * signatures.
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
  /** When the order expires, in milliseconds from now by the database's clock. */
  readonly expiresMs?: number;
  /** When to query the gateway for the first time, in milliseconds from now. */
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
  /** The gateway's own number for the order. */
  readonly gatewayRef: string | null;
  readonly createdAt: number;
  readonly changedAt: number | null;
  readonly expiresAt: number | null;
}

interface PaymentReport extends PaymentUpdate {
  readonly orderNo: string;
  readonly gatewayRef?: string;
  /** The user, if a user cancelled it. */
  readonly by?: string;
  readonly reason?: string;
  /** Stored with the change. */
  readonly body?: Json;
  /** The gateway's message as received. It is stored once. */
  readonly notice?: { readonly gateway: string; readonly event: string; readonly body: Json };
}

/** A success must include the paid amount. */
export type OrderTransition =
  | (PaymentReport & { readonly to: "succeeded"; readonly paid: Money })
  | (PaymentReport & { readonly to: Exclude<PaymentStatus, "pending" | "succeeded"> });

export type ApplyResult =
  /** The order changed. There are two changes if it took two steps at once (success without a start). */
  | {
      readonly outcome: "won";
      readonly order: Order;
      readonly interaction: Interaction;
      readonly changes: readonly InteractionChange[];
    }
  /**
   * The order already has this status, a later one, or a final one. A success that lost to `cancelled` or `expired`
   * must be refunded.
   */
  | { readonly outcome: "lost"; readonly order: Order }
  /** The amount, currency or gateway differs from the order. Nothing changed. */
  | { readonly outcome: "mismatch"; readonly order: Order; readonly fields: readonly MismatchField[] }
  /** This notice was processed before. Nothing changed. */
  | { readonly outcome: "repeated"; readonly order: Order | null }
  /** The tenant has no such order yet. The notice is stored, and a repeat of it is evaluated again. */
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
   * Creates an order. Idempotent by id: a repeat of the same order returns the stored one. Notices that arrived earlier
   * become part of the order; see `notices`.
   * @throws StoreError with EXISTS for another order under the same id, order number or interaction, with CONFLICT if
   *   the request was cancelled.
   */
  create(
    ref: SessionRef,
    order: NewOrder,
  ): Promise<{ readonly created: boolean; readonly order: Order; readonly early: readonly PaymentNotice[] }>;
  /**
   * Applies a status change to order, interaction and notice in one step. Changes only go forward, in whatever order
   * and however often reports arrive.
   */
  apply(tenant: string, move: OrderTransition): Promise<ApplyResult>;
  get(ref: SessionRef, id: string): Promise<Order | null>;
  byOrderNo(tenant: string, orderNo: string): Promise<Order | null>;
  /** Returns the newest 1,000 notices, oldest first. */
  notices(ref: SessionRef, orderNo: string): Promise<PaymentNotice[]>;
  /**
   * Returns orders of all tenants that are not final and whose gateway should be queried. Each order is returned once,
   * and again after `againMs`. `overdue` orders can be expired if the gateway agrees.
   */
  stale(page: {
    readonly limit: number;
    readonly againMs: number;
  }): Promise<(Order & { readonly overdue: boolean })[]>;
  /** Deletes notices whose orders never arrived. */
  pruneNotices(page: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

export const MAX_NOTICE_BYTES = 256 * 1024;
