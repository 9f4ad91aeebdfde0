/**
 * The port of signals between processes: short words that wake somebody up sooner than they would look by
 * themselves. Lossy on purpose. Nothing depends on one: whatever it is about is in the store.
 */
export interface Signals {
  /** Tells everybody who listens now. Never throws: who can't be told looks by himself. */
  send(channel: string, text: string): void;
  /** @returns how to stop listening */
  listen(channel: string, listener: (text: string) => void): () => void;
  close(): Promise<void>;
}
