/**
 * `payments` are the English strings of the payment card. The status of a payment is in `cards`, because it is announced
 * too.
 * Invariant: they define the shape of the other languages, so a new key needs a text in each. They are loaded with the
 * card, so a page without payments doesn't load them.
 */
import { countText } from "@turnstream/protocol";

export const payments = {
  pay: "Pay",
  continueCheckout: "Continue to checkout",
  refresh: "Refresh",
  /** Announced after a refresh that changed nothing. */
  isCurrent: "The status is up to date.",
  order: (orderNo: string): string => `Order ${orderNo}`,
  secondsLeft: countText("en", { one: "# second left to pay.", other: "# seconds left to pay." }),

  cancel: "Cancel",
  confirmCancel: "Cancel this payment?",
  cancelPayment: "Cancel payment",
  keepPayment: "Keep it",

  /** What the card shows once the payment is final. */
  outcome: {
    succeeded: "The payment has been received.",
    failed: "The payment did not go through.",
    cancelled: (who: string): string =>
      who === "" ? "The payment was cancelled." : `${who} cancelled the payment.`,
    expired: "The payment was not completed in time.",
  },
};
