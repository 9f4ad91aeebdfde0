/**
 * `createPaymentOptions` makes the option `payments` of a gateway or worker from settings that were passed to its
 * process as JSON.
 *
 * Invariant: gateways and workers with the same settings have the same option.
 */
import { newebPay, type NewebPayOptions } from "@turnstream/payments/newebpay";
import { type PaymentOptions } from "@turnstream/server";

export interface PaymentSettings extends Omit<PaymentOptions, "providers"> {
  /** Options of the only provider, such as `providerOptions` of the payment sandbox. */
  readonly provider: NewebPayOptions;
}

export function createPaymentOptions({ provider, ...options }: PaymentSettings): PaymentOptions {
  return { ...options, providers: [newebPay(provider)] };
}
