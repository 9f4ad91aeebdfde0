/**
 * `en` are the English texts of the payment pages.
 * Invariant: they are the fallback for every language without texts of its own.
 */
import { countText } from "@turnstream/protocol";
import type { PageStrings } from "./page-strings.ts";

export const en: PageStrings = {
  locale: "en",
  amount: "Amount",
  order: "Order number",
  continueButton: "Continue to payment",
  checkout: { title: "Payment", text: "The payment opens on the page of our payment provider." },
  leaving: { title: "Opening the payment page", text: "If nothing happens, use the button." },
  statuses: {
    pending: { title: "Not paid yet", text: "This payment has not been started." },
    processing: {
      title: "Waiting for confirmation",
      text: "The payment is not confirmed yet. This page updates by itself. You can also close it: the chat shows the result.",
    },
    succeeded: { title: "Payment received", text: "Thank you. Your payment was successful." },
    failed: { title: "Payment failed", text: "The payment was not successful." },
    cancelled: { title: "Payment cancelled", text: "This payment was cancelled and can't be made anymore." },
    expired: {
      title: "Payment expired",
      text: "This payment was not completed in time and can't be made anymore.",
    },
  },
  closePage: "You can close this page and return to the chat.",
  refunded: "Refunded",
  lateSuccess:
    "We received money for this payment after it had ended. Our staff will check it. Please don't pay again.",
  minutesLeft: countText("en", { one: "# minute left to pay", other: "# minutes left to pay" }),
  notFound: {
    title: "Payment not found",
    text: "This link is incomplete, or its payment no longer exists. Please open it from the chat again.",
  },
  unavailable: {
    title: "Not available right now",
    text: "The payment page can't be opened at the moment. Please try again in a minute.",
  },
  tryAgain: "Try again",
};
