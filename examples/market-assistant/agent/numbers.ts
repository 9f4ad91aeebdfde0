/** `createNumbers` formats numbers for a language. */
export interface Numbers {
  readonly money: (value: number) => string;
  readonly whole: (value: number) => string;
  /** With a sign except for zero, and at most two decimal digits. */
  readonly signed: (value: number) => string;
  readonly plain: (value: number) => string;
}

export function createNumbers(locale: string): Numbers {
  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const signed = new Intl.NumberFormat(locale, { maximumFractionDigits: 2, signDisplay: "exceptZero" });
  const plain = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  return {
    money: (value) => `${whole.format(value)} VND`,
    whole: (value) => whole.format(value),
    signed: (value) => signed.format(value),
    plain: (value) => plain.format(value),
  };
}
