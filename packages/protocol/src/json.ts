/** Any value that JSON text can carry. Only the type; never parses or checks anything. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A type with everything in it read-only: events, frames and states are never changed in place. */
export type Immutable<T> = [Json] extends [T]
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Immutable<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Immutable<T[Key]> }
      : T;
