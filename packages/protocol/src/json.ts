/**
 * `Json` is any JSON value, and `Immutable` makes a type deeply read-only. Types only.
 * Invariant: events, frames and states have these types, so code that changes them in place does not compile.
 */

/** Any value that JSON text can represent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Makes a type deeply read-only. Events, frames and states are never changed in place. */
export type Immutable<T> = [Json] extends [T]
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Immutable<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Immutable<T[Key]> }
      : T;
