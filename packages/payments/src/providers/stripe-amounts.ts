/**
 * `toStripeAmount` and `fromStripeAmount` convert between our amounts and Stripe's, which count other units for some
 * currencies. Pure.
 *
 * Invariant: `STRIPE_DIGITS` lists Stripe's units, and `currencyDigits` ours; the factor derives from both. A wrong
 * entry charges a wrong price.
 */
import { currencyDigits } from "@turnstream/protocol";
import type { Money } from "../provider.ts";

/**
 * Decimal digits of Stripe's amounts, for currencies that don't have two (docs.stripe.com/currencies). By Stripe's
 * special cases, ISK, TWD and UGX have two, although only whole units of ISK and UGX can be charged.
 */
const STRIPE_DIGITS: Readonly<Record<string, number>> = {
  BIF: 0,
  CLP: 0,
  DJF: 0,
  GNF: 0,
  JPY: 0,
  KMF: 0,
  KRW: 0,
  MGA: 0,
  PYG: 0,
  RWF: 0,
  VND: 0,
  VUV: 0,
  XAF: 0,
  XOF: 0,
  XPF: 0,
  BHD: 3,
  JOD: 3,
  KWD: 3,
  OMR: 3,
  TND: 3,
};

/** Stripe charges only multiples of this in a currency with three decimal digits. */
const THREE_DIGITS_STEP = 10;

function stripeDigits(code: string): number {
  return Object.hasOwn(STRIPE_DIGITS, code) ? (STRIPE_DIGITS[code] ?? 2) : 2;
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
