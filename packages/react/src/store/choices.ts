/**
 * What a person has opened or shut by hand, by turn and place. Their choice wins over every default from then on. Kept in
 * the page only; never in the log.
 */
export interface Choices {
  get(turn: string, index: number): boolean | undefined;
  set(turn: string, index: number, isOpen: boolean): void;
  subscribe(turn: string, index: number, listener: () => void): () => void;
}

const keyOf = (turn: string, index: number): string => `${index} ${turn}`;

export function createChoices(): Choices {
  const chosen = new Map<string, boolean>();
  const listeners = new Map<string, Set<() => void>>();
  return {
    get: (turn, index) => chosen.get(keyOf(turn, index)),
    set(turn, index, isOpen) {
      chosen.set(keyOf(turn, index), isOpen);
      for (const listener of listeners.get(keyOf(turn, index)) ?? []) listener();
    },
    subscribe(turn, index, listener) {
      const key = keyOf(turn, index);
      const set = listeners.get(key) ?? new Set();
      listeners.set(key, set.add(listener));
      return () => {
        set.delete(listener);
        if (set.size === 0) listeners.delete(key);
      };
    },
  };
}
