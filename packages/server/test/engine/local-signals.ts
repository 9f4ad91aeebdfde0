/** Signals within one process that are delivered synchronously and never lost. */
import type { Signals } from "../../src/signals/signals.ts";

export function standInSignals(): Signals {
  const listeners = new Map<string, Set<(text: string) => void>>();
  return {
    send(channel, text) {
      for (const listener of listeners.get(channel) ?? []) listener(text);
    },
    listen(channel, listener) {
      const all = listeners.get(channel) ?? new Set();
      listeners.set(channel, all.add(listener));
      return () => void all.delete(listener);
    },
    close: async () => listeners.clear(),
  };
}
