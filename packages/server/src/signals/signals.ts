/**
 * `Signals` is the port for wake-ups between processes: a short text that makes a listener check the store before its
 * next poll. Types only.
 * Invariant: signals may be lost, so nothing may depend on one: all data that a signal refers to is in the store.
 * `send` never throws and never waits.
 */

export interface Signals {
  /**
   * Sends a signal to all current listeners of a channel. Never throws: a listener that misses it finds the change by
   * polling.
   */
  send(channel: string, text: string): void;
  /** @returns a function that stops listening */
  listen(channel: string, listener: (text: string) => void): () => void;
  close(): Promise<void>;
}
