/**
 * `Signals` is the port for wake-ups between processes: a short text that makes a listener check the store before its
 * next poll. Types only.
 * Invariant: signals may be lost, so nothing may depend on one: all data that a signal refers to is in the store.
 * `send`, `offer` and `hint` never throw and never wait.
 */

/** What a process can do at the moment. */
export interface Offer {
  /** The topics that the process gets hints about. */
  readonly topics: readonly string[];
  /** Hints go to processes with less load first. */
  readonly load: number;
}

export interface Signals {
  /**
   * Sends a signal to all current listeners of a channel. Never throws: a listener that misses it finds the change by
   * polling.
   */
  send(channel: string, text: string): void;
  /** @returns a function that stops listening */
  listen(channel: string, listener: (text: string) => void): () => void;
  /**
   * Makes the listeners of a channel available for hints. An offer lasts 2.5 s, or until the next one of the same
   * channel; null withdraws it.
   */
  offer(channel: string, offer: Offer | null): void;
  /** Sends the topic to one channel that offers it. If none does, sends it to the next one that does within a second. */
  hint(topic: string): void;
  /** Returns the least load of the other channels that offer this topic, or null. */
  leastLoad(topic: string, besides: string): number | null;
  close(): Promise<void>;
}
