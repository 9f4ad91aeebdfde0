/**
 * `extendStrings` returns strings with some of their texts replaced. `resolveStrings` fills in what an app leaves out.
 * Invariant: neither changes what it gets. `resolveStrings` returns the same object for the same input, so that a
 * render doesn't change the context of the thread.
 */
import { en } from "./en/index.ts";
import type { Strings } from "./strings.ts";

/** Some of the texts, at any depth. */
export type StringChanges<T> = {
  readonly [Key in keyof T]?: NonNullable<T[Key]> extends string | ((...args: never) => string)
    ? T[Key]
    : StringChanges<NonNullable<T[Key]>>;
};

export function extendStrings<T extends object>(strings: T, changes: StringChanges<T> = {}): T {
  const extended = { ...strings } as Record<string, unknown>;
  for (const [key, change] of Object.entries(changes)) {
    const text = extended[key];
    const isGroup = typeof text === "object" && typeof change === "object";
    if (change !== undefined)
      extended[key] = isGroup ? extendStrings(text as object, change as object) : change;
  }
  return extended as T;
}

const resolved = new WeakMap<object, Strings>();

export function resolveStrings(given: StringChanges<Strings> = en): Strings {
  const strings = resolved.get(given) ?? extendStrings(en, given);
  resolved.set(given, strings);
  return strings;
}
