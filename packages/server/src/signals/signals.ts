/**
 * `Signals` is the port for wake-ups between processes: a short text that makes a listener check the store before its
 * next poll. Signals may be lost. Nothing may depend on one, because all data that a signal refers to is in the store.
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
