/**
 * `formatMoney` formats the amount of a payment for a locale, and `currencyDigits` gives its decimal digits. Pure.
 * Invariant: `DIGITS` is the only table of digits. It matches the unit of `amount` in payment events, which differs
 * from ISO 4217 for some currencies such as TWD. A wrong entry shows or charges a wrong price. No code makes it throw.
 */

/**
 * The number of decimal digits of currencies that don't have two: `amount` counts the smallest unit that payment
 * providers accept. They accept only whole New Taiwan dollars, although the currency formally has cents.
 */
const DIGITS: Readonly<Record<string, number>> = {
  BIF: 0,
  CLP: 0,
  DJF: 0,
  GNF: 0,
  ISK: 0,
  JPY: 0,
  KMF: 0,
  KRW: 0,
  PYG: 0,
  RWF: 0,
  TWD: 0,
  UGX: 0,
  UYI: 0,
  VND: 0,
  VUV: 0,
  XAF: 0,
  XOF: 0,
  XPF: 0,
  BHD: 3,
  IQD: 3,
  JOD: 3,
  KWD: 3,
  LYD: 3,
  OMR: 3,
  TND: 3,
};

/** Returns how many decimal digits of the currency `amount` includes: 0 for TWD, 2 for USD. */
export function currencyDigits(currency: string): number {
  const code = currency.toUpperCase();
  return Object.hasOwn(DIGITS, code) ? (DIGITS[code] ?? 2) : 2;
}

/** @param amount an integer in the smallest unit of the currency */
export function formatMoney(locale: string, amount: number, currency: string): string {
  const code = currency.toUpperCase();
  const digits = currencyDigits(code);
  const value = amount / 10 ** digits;
  const style = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  // Intl accepts only codes of three letters, and a log can contain other currencies.
  return /^[A-Z]{3}$/.test(code)
    ? new Intl.NumberFormat(locale, { ...style, style: "currency", currency: code }).format(value)
    : `${new Intl.NumberFormat(locale, style).format(value)} ${currency}`;
}
