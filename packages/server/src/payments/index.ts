/**
 * `@turnstream/server/payments` exports the port of payment providers and the adapter for NewebPay.
 * Invariant: every name here is public. It loads no optional package, so the adapter for Stripe has its own entry point.
 */
export type { PaymentOptions } from "./payment-options.ts";
export { newebPay, type NewebPayOptions } from "./newebpay.ts";
export {
  type CheckoutOrder,
  type CheckoutStep,
  type Money,
  type Notification,
  PaymentError,
  type PaymentErrorCode,
  type PaymentProvider,
  type ProviderReport,
} from "./provider.ts";
