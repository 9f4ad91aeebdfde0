/**
 * `toStripeAmount` and `fromStripeAmount` convert between our amounts and Stripe's, which count other units for some
 * currencies. Pure.
 *
 * Invariant: the lists name Stripe's units, and `currencyDigits` ours; the factor derives from both. A wrong entry
 * charges a wrong price.
 */
import { currencyDigits } from "@turnstream/protocol";
import type { Money } from "../provider.ts";

/**
 * The currencies whose amounts don't have two decimal digits at Stripe (docs.stripe.com/currencies). By Stripe's special
 * cases, ISK, TWD and UGX have two, although only whole units of ISK and UGX can be charged.
 */
const NO_DIGITS = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ");
const THREE_DIGITS = "BHD JOD KWD OMR TND".split(" ");

/** Stripe charges only multiples of this in a currency with three decimal digits. */
const THREE_DIGITS_STEP = 10;

function stripeDigits(code: string): number {
  if (NO_DIGITS.includes(code)) return 0;
  return THREE_DIGITS.includes(code) ? 3 : 2;
}

/** Multiplies by a power of ten, without the rounding errors of a negative power. */
function shift(amount: number, digits: number): number {
  return digits < 0 ? amount / 10 ** -digits : amount * 10 ** digits;
}

/** @returns null if Stripe can't charge exactly this amount */
export function toStripeAmount({ amount, currency }: Money): number | null {
  const digits = stripeDigits(currency);
  const units = shift(amount, digits - currencyDigits(currency));
  const step = digits === 3 ? THREE_DIGITS_STEP : 1;
  const isExact = Number.isSafeInteger(amount) && Number.isSafeInteger(units);
  return isExact && units > 0 && units % step === 0 ? units : null;
}

/** @returns an amount that is not whole if Stripe's amount has no equivalent in our units */
export function fromStripeAmount(units: number, currency: string): Money {
  const code = currency.toUpperCase();
  return { amount: shift(units, currencyDigits(code) - stripeDigits(code)), currency: code };
}
