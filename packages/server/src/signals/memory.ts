/**
 * `createMemorySignals` delivers signals between the users of one object in one process. Does not reach other
 * processes.
 */
import { Listeners } from "./listeners.ts";
import type { Signals } from "./signals.ts";

export function createMemorySignals(): Signals {
  const listeners = new Listeners();
  return {
    // Deliver after the call returns, as signals from another process arrive. Otherwise a listener would run before the
    // sender has continued.
    send: (channel, text) => void setImmediate(() => listeners.emit(channel, text)).unref(),
    listen: (channel, listener) => listeners.add(channel, listener),
    close: async () => listeners.clear(),
  };
}
