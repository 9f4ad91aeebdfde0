/** `@turnstream/payments/sandbox` exports `startPaymentSandbox`, a payment provider for tests. */
export type { SandboxBehavior } from "./sandbox-notifier.ts";
export type { NotificationOverrides, SandboxOrder, SandboxStatus } from "./sandbox-orders.ts";
export {
  type PaymentSandbox,
  type PaymentSandboxOptions,
  startPaymentSandbox,
} from "./start-payment-sandbox.ts";
