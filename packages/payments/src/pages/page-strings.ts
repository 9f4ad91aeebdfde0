/**
 * `PageStrings` are the texts of the payment pages in one language. Types only.
 * Invariant: every language has every text. Texts are plain text, which the pages escape. They never name a payment
 * provider, because a server can have several.
 */
import type { PaymentStatus } from "../store/payment-transitions.ts";

/** A heading and one or two sentences below it. */
export interface PageText {
  readonly title: string;
  readonly text: string;
}

export interface PageStrings {
  /** The language tag, for `lang` and for the format of amounts. */
  readonly locale: string;
  readonly amount: string;
  readonly order: string;
  /** The button that starts or continues the checkout. */
  readonly continueButton: string;
  /** Above the button, while the payment can still be made. */
  readonly checkout: PageText;
  /** While the browser leaves for the provider's page. */
  readonly leaving: PageText;
  readonly statuses: Readonly<Record<PaymentStatus, PageText>>;
  /** Below a final status. */
  readonly closePage: string;
  readonly refunded: string;
  /** The provider reported a success after the payment had ended otherwise. */
  readonly lateSuccess: string;
  readonly minutesLeft: (minutes: number) => string;
  /** The link does not belong to a payment. */
  readonly notFound: PageText;
  /** The server or the provider can't be reached. */
  readonly unavailable: PageText;
  readonly tryAgain: string;
}
