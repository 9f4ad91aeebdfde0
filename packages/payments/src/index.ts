/** `@turnstream/payments` lets agents request payments. Providers have entries of their own. */
export { payments, type Payments } from "./payments.ts";
export type { PaymentOptions } from "./payment-options.ts";
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
export type { PaymentSpec } from "./request/parse-payment.ts";
export { resolveFlag } from "./read-payments.ts";
export { PAYMENT_TABLES as tables } from "./store/payment-tables.ts";
export type { NewPayment, Payment } from "./store/payments-part.ts";
export type { PaymentChange } from "./store/payment-transitions.ts";
export { paymentsOf } from "./store/payments-of.ts";
