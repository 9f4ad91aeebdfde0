/**
 * `extendStrings` returns strings with some of their texts replaced. `createResolver` returns a function that fills in
 * what an app leaves out.
 * Invariant: neither changes what it gets. The same input gives the same object, so strings are merged once and a render
 * changes nothing.
 */

/** Some of the texts, at any depth. */
export type StringChanges<T> = {
  readonly [Key in keyof T]?: T[Key] extends string | ((...args: never) => string)
    ? T[Key]
    : StringChanges<T[Key]>;
};

export function extendStrings<T extends object>(strings: T, changes: StringChanges<T>): T {
  const extended = { ...strings } as Record<string, unknown>;
  for (const [key, change] of Object.entries(changes)) {
    const text = extended[key];
    const isGroup = typeof text === "object" && typeof change === "object";
    if (change !== undefined)
      extended[key] = isGroup ? extendStrings(text as object, change as object) : change;
  }
  return extended as T;
}

export function createResolver<T extends object>(defaults: T): (given?: StringChanges<T>) => T {
  const resolved = new WeakMap<object, T>([[defaults, defaults]]);
  return (given = defaults) => {
    const strings = resolved.get(given) ?? extendStrings(defaults, given);
    resolved.set(given, strings).set(strings, strings);
    return strings;
  };
}
