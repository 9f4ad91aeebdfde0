/**
 * `paymentPageStates` lists the states of the pages that the gateway serves around a payment: checkout, the way to the
 * provider, and return. Their scripts are left out, because they would leave the page.
 */
import {
  renderCheckoutPage,
  renderLeavingPage,
  renderMessagePage,
  renderReturnPage,
} from "../../../packages/payments/src/pages/payment-page.ts";
import { selectPageStrings } from "../../../packages/payments/src/pages/select-page-strings.ts";
import { shortAnswer } from "../logs/texts.ts";
import { type GalleryState, of } from "./state.ts";

const NOW = Date.UTC(2027, 0, 15, 9);
const PAYMENT = {
  description: "洗牙預約訂金 · Deposit for the first consultation",
  amount: 1200,
  currency: "TWD",
  orderNo: "TS4QK7M2VXA3ZDH6NPB5WC9RT1",
  status: "pending",
  expiresAt: NOW + 30 * 60_000,
  refundedAmount: 0,
  flag: null,
} as const;

type PagePayment = Parameters<typeof renderReturnPage>[1];

function page(render: (context: Parameters<typeof renderReturnPage>[0]) => { readonly text: string }) {
  return {
    log: () => shortAnswer().events,
    shows: "page",
    renderPage: (locale: string) =>
      withoutScripts(
        render({ strings: selectPageStrings(locale), nonce: "", token: "token", now: NOW }).text,
      ),
  } as const;
}

function withoutScripts(text: string): string {
  return text.replaceAll(/<(script|noscript)\b.*?<\/\1>/gs, "");
}

const checkout = (changes: Partial<PagePayment> = {}) =>
  page((context) => renderCheckoutPage(context, { ...PAYMENT, ...changes }, null));
const returned = (changes: Partial<PagePayment>) =>
  page((context) => renderReturnPage(context, { ...PAYMENT, ...changes }));

export const paymentPageStates: readonly GalleryState[] = [
  ...of("checkout-page", {
    pending: checkout(),
    processing: checkout({ status: "processing" }),
    succeeded: checkout({ status: "succeeded" }),
    failed: checkout({ status: "failed" }),
    cancelled: checkout({ status: "cancelled" }),
    expired: checkout({ status: "expired" }),
    leaving: page((context) =>
      renderLeavingPage(context, { type: "form", action: "https://pay.example.com/", fields: {} }),
    ),
    "not-found": page((context) => renderMessagePage(context, 404)),
    unavailable: page((context) => renderMessagePage(context, 503, "token")),
  }),
  ...of("return-page", {
    pending: returned({}),
    processing: returned({ status: "processing" }),
    succeeded: returned({ status: "succeeded" }),
    refunded: returned({ status: "succeeded", refundedAmount: 200 }),
    failed: returned({ status: "failed" }),
    cancelled: returned({ status: "cancelled" }),
    expired: returned({ status: "expired" }),
    "late-success": returned({ status: "expired", flag: "late_success" }),
  }),
];
