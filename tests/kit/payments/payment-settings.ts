/**
 * `createPayments` makes the feature from settings that were passed to its
 * process as JSON.
 *
 * Invariant: gateways and workers with the same settings have the same feature.
 */
import { newebPay, type NewebPayOptions } from "@turnstream/payments/newebpay";
import { type PaymentOptions, payments, type Payments } from "@turnstream/payments";

export interface PaymentSettings extends Omit<PaymentOptions, "providers"> {
  /** Options of the only provider, such as `providerOptions` of the payment sandbox. */
  readonly provider: NewebPayOptions;
}

export function createPayments({ provider, ...options }: PaymentSettings): Payments {
  return payments({ ...options, providers: [newebPay(provider)] });
}
