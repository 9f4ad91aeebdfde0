/**
 * `en` are the English texts of the payment pages, the fallback for every language without texts of its own.
 * `PageStrings` are those of any language.
 *
 * Invariant: texts are plain text, which the pages escape. They never name a payment provider, because a server can have
 * several.
 */
import { countText } from "@turnstream/protocol";

export type PageStrings = typeof en;

export const en = {
  /** The language tag, for `lang` and for the format of amounts. */
  locale: "en",
  amount: "Amount",
  order: "Order number",
  /** The button that starts or continues the checkout. */
  continueButton: "Continue to payment",
  /** Above the button, while the payment can still be made. */
  checkout: { title: "Payment", text: "The payment opens on the page of our payment provider." },
  /** While the browser leaves for the provider's page. */
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
  /** Below a final status. */
  closePage: "You can close this page and return to the chat.",
  refunded: "Refunded",
  /** The provider reported a success after the payment had ended otherwise. */
  lateSuccess:
    "We received money for this payment after it had ended. Our staff will check it. Please don't pay again.",
  minutesLeft: countText("en", { one: "# minute left to pay", other: "# minutes left to pay" }),
  /** The link does not belong to a payment. */
  notFound: {
    title: "Payment not found",
    text: "This link is incomplete, or its payment no longer exists. Please open it from the chat again.",
  },
  /** The server or the provider can't be reached. */
  unavailable: {
    title: "Not available right now",
    text: "The payment page can't be opened at the moment. Please try again in a minute.",
  },
  tryAgain: "Try again",
};
