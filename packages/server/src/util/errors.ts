/** Error classes with a table of codes: each code says what is wrong and what the caller can do. One class for each layer. */

type Format = (code: string, what: string, meaning: string) => string;

/**
 * Makes the base of an error class with a code for programs and a message for people.
 * @param format of the message: `what` names the thing, by kind and id only, and never holds content
 */
export function defineErrors<Code extends string>(
  name: string,
  meanings: Readonly<Record<Code, string>>,
  format: Format = (_code, what, meaning) => `${what}: ${meaning}`,
) {
  return class extends Error {
    readonly code: Code;

    constructor(code: Code, what: string, cause?: unknown) {
      super(format(code, what, meanings[code]), cause === undefined ? {} : { cause });
      this.name = name;
      this.code = code;
    }
  };
}

/** Makes the check whether something is such an error; with codes, whether it has one of them. */
export function createErrorGuard<E extends Error & { readonly code: string }>(
  errorClass: new (...args: never[]) => E,
): (error: unknown, ...codes: E["code"][]) => error is E {
  return (error, ...codes): error is E =>
    error instanceof errorClass && (codes.length === 0 || codes.includes(error.code));
}
