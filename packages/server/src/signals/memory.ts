/** Signals within one process: whoever was given the same object hears them. Never reaches another process. */
import { Listeners } from "./listeners.ts";
import type { Signals } from "./signals.ts";

export function createMemorySignals(): Signals {
  const listeners = new Listeners();
  return {
    // Never within the call, as from another process: who sends has not gone on yet.
    send: (channel, text) => void setImmediate(() => listeners.emit(channel, text)).unref(),
    listen: (channel, listener) => listeners.add(channel, listener),
    close: async () => listeners.clear(),
  };
}
