/**
 * `createExpandedState` stores what the user has expanded or collapsed, by turn and block index.
 * Invariant: the user's choice overrides every default. It lives only in the page, never in the log.
 */
export interface ExpandedState {
  get(turnId: string, blockIndex: number): boolean | undefined;
  set(turnId: string, blockIndex: number, isExpanded: boolean): void;
  subscribe(turnId: string, blockIndex: number, listener: () => void): () => void;
}

const keyOf = (turnId: string, blockIndex: number): string => `${blockIndex} ${turnId}`;

export function createExpandedState(): ExpandedState {
  const chosen = new Map<string, boolean>();
  const listeners = new Map<string, Set<() => void>>();
  return {
    get: (turnId, blockIndex) => chosen.get(keyOf(turnId, blockIndex)),
    set(turnId, blockIndex, isExpanded) {
      chosen.set(keyOf(turnId, blockIndex), isExpanded);
      for (const listener of listeners.get(keyOf(turnId, blockIndex)) ?? []) listener();
    },
    subscribe(turnId, blockIndex, listener) {
      const key = keyOf(turnId, blockIndex);
      const set = listeners.get(key) ?? new Set();
      listeners.set(key, set.add(listener));
      return () => {
        set.delete(listener);
        if (set.size === 0) listeners.delete(key);
      };
    },
  };
}
