/**
 * What a person has opened or shut by hand, by turn and place. Their choice wins over every default from then on. Kept in
 * the page only; never in the log.
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
