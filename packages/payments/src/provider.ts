/**
 * `PaymentProvider` is the port of payment providers: it starts a checkout, reads a provider's notifications and asks
 * about an order.
 *
 * Invariant: a provider returns only reports that it has authenticated and that are about our merchant. It stores
 * nothing and decides nothing; `store/payment-transitions.ts` decides what a report changes.
 */
import { ServiceError } from "@turnstream/server";

/** An amount in the smallest unit that payment providers accept for the currency. */
export interface Money {
  readonly amount: number;
  /** ISO 4217 code, such as TWD. */
  readonly currency: string;
}

export interface CheckoutOrder extends Money {
  /** Unique at the provider: at most 30 characters of A-Z and 0-9. */
  readonly orderNo: string;
  readonly description: string;
  /** Language of the provider's page, such as zh-TW. */
  readonly locale: string;
  /** From an earlier checkout of the same order. */
  readonly providerRef: string | null;
  /** Unix time in milliseconds. */
  readonly expiresAt: number | null;
  /** Page of the gateway to which the provider sends the browser back. */
  readonly returnUrl: string;
  /** Address of the gateway to which the provider sends notifications. */
  readonly notifyUrl: string;
}

/** The next step of the browser: a redirect, or a form that it posts to the provider. */
export type CheckoutStep =
  | { readonly type: "redirect"; readonly url: string }
  | { readonly type: "form"; readonly action: string; readonly fields: Readonly<Record<string, string>> };

/** A provider's authenticated statement about an order. */
export interface ProviderReport {
  readonly orderNo: string;
  readonly status: "processing" | "succeeded" | "failed" | "refunded";
  /** The paid sum, or for `refunded` the refunded sum so far. Null only for `processing` and `failed`. */
  readonly paid: Money | null;
  /** The provider's own number for the order. */
  readonly providerRef: string | null;
  /** The same for every repeat of the same statement. At most 200 characters. */
  readonly event: string;
  /** The provider's own text for operators. It is cut to 500 characters. */
  readonly reason: string | null;
}

/** An HTTP request that claims to come from the provider. Header names are in lower case. */
export interface Notification {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

export interface PaymentProvider {
  /** Stored with each order, such as "newebpay". Part of the notify URL. */
  readonly name: string;
  /** Returns the reason why this sum can't be charged, as a sentence, or null. */
  checkMoney(money: Money): string | null;
  /**
   * Starts the checkout, or continues it: the same order always leads to the same provider order.
   * @throws PaymentError UNAVAILABLE or REFUSED
   */
  checkout(
    order: CheckoutOrder,
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly step: CheckoutStep; readonly providerRef: string | null }>;
  /**
   * Verifies and reads a notification.
   * @returns null for an authentic notification about something else
   * @throws PaymentError NOT_AUTHENTIC (also for another merchant) or MALFORMED
   */
  readNotification(notification: Notification): ProviderReport | null;
  /** The response that the provider expects to a notification. @default 200 "OK" */
  readonly notificationReply?: { readonly status: number; readonly body: string };
  /**
   * Asks the provider about an order.
   * @returns null if the provider doesn't know the order or has no result yet
   * @throws PaymentError UNAVAILABLE or NOT_AUTHENTIC
   */
  query(
    order: Pick<CheckoutOrder, "orderNo" | "amount" | "currency" | "providerRef">,
    options: { readonly signal: AbortSignal },
  ): Promise<ProviderReport | null>;
  /** Origin that the content security policy of the checkout page must allow as form target. Null: no form. */
  readonly formOrigin: string | null;
}

export type PaymentErrorCode = "NOT_AUTHENTIC" | "MALFORMED" | "UNAVAILABLE" | "REFUSED";

/** The message never contains a secret or the raw body of a provider. */
export class PaymentError extends ServiceError {
  readonly code: PaymentErrorCode;

  constructor(code: PaymentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PaymentError";
    this.code = code;
  }
}
