/**
 * `defineErrors` creates the error class of one layer from a table of codes, and `createErrorGuard` its type guard.
 * Invariant: each code states what is wrong and what the caller can do. `what` names an object by kind and id only,
 * because messages are logged and shown. Programs distinguish errors by class and `code`, never by message.
 */

type Format = (code: string, what: string, meaning: string) => string;

/**
 * Creates a base class whose errors have a code for programs and a readable message.
 * @param format builds the message. `what` names the object by kind and id only. It never contains content, because
 * messages are logged and shown.
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

/** Creates a type guard for the error class. If codes are passed to the guard, the error must have one of them. */
export function createErrorGuard<E extends Error & { readonly code: string }>(
  errorClass: new (...args: never[]) => E,
): (error: unknown, ...codes: E["code"][]) => error is E {
  return (error, ...codes): error is E =>
    error instanceof errorClass && (codes.length === 0 || codes.includes(error.code));
}
