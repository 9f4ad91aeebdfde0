/**
 * `createMemorySignals` delivers signals between senders and listeners that share one object in one process. Does not
 * reach other processes.
 * Invariant: a listener runs only after `send` has returned, like a signal from another process, and in the order of
 * the sends. A pending signal does not keep the process alive. `close` removes all listeners.
 */
import { Listeners } from "./listeners.ts";
import type { Signals } from "./signals.ts";

export function createMemorySignals(): Signals {
  const listeners = new Listeners();
  // Deliver after the call returns, as signals from another process arrive. Otherwise a listener would run before the
  // sender has continued.
  const send: Signals["send"] = (channel, text) =>
    void setImmediate(() => listeners.emit(channel, text)).unref();
  const listen: Signals["listen"] = (channel, listener) => listeners.add(channel, listener);
  return {
    send,
    listen,
    close: async () => listeners.clear(),
  };
}
