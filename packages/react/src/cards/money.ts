/** Amounts of money as the language writes them. Pure. */

/**
 * How many digits of an amount are behind the point, where that isn't two: `amount` counts in the smallest unit that
 * gateways take. They take whole New Taiwan dollars, though the currency has cents on paper.
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

/** @param amount in the smallest unit of the currency, a whole number */
export function formatMoney(locale: string, amount: number, currency: string): string {
  const code = currency.toUpperCase();
  const digits = Object.hasOwn(DIGITS, code) ? (DIGITS[code] ?? 2) : 2;
  const value = amount / 10 ** digits;
  const style = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  // Three letters are all that Intl asks for, and not all currencies of a log have them.
  return /^[A-Z]{3}$/.test(code)
    ? new Intl.NumberFormat(locale, { ...style, style: "currency", currency: code }).format(value)
    : `${new Intl.NumberFormat(locale, style).format(value)} ${currency}`;
}
