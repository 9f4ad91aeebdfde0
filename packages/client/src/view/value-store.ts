/**
 * `createValueStore` holds one value and notifies its listeners of each change.
 * Invariant: it calls a new listener at once with the current value, as Svelte requires of a store.
 */
export interface ReadableStore<T> {
  readonly get: () => T;
  /** Calls the listener at once and at each change. Returns a function that removes it. */
  readonly subscribe: (listener: (value: T) => void) => () => void;
}

interface ValueStore<T> extends ReadableStore<T> {
  readonly set: (value: T) => void;
}

export function createValueStore<T>(initial: T): ValueStore<T> {
  const listeners = new Set<(value: T) => void>();
  let value = initial;
  return {
    get: () => value,
    subscribe(listener) {
      listeners.add(listener);
      listener(value);
      return () => void listeners.delete(listener);
    },
    set(next) {
      value = next;
      for (const listener of listeners) listener(value);
    },
  };
}
