/**
 * `Listeners` registers listeners per channel and calls them.
 * Invariant: an error of one listener becomes a process warning; it never reaches the sender or the other listeners.
 * Each `add` is removed separately, even for the same function. A channel without listeners uses no memory.
 */
export type Listener = (text: string) => void;

export class Listeners {
  readonly #channels = new Map<string, Set<{ readonly listener: Listener }>>();

  /**
   * The same function can be added twice.
   * @returns a function that removes the listener
   */
  add(channel: string, listener: Listener): () => void {
    const listeners = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, listeners);
    const entry = { listener };
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      if (listeners.size === 0 && this.#channels.get(channel) === listeners) this.#channels.delete(channel);
    };
  }

  emit(channel: string, text: string): void {
    for (const { listener } of this.#channels.get(channel) ?? []) {
      try {
        listener(text);
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }

  clear(): void {
    this.#channels.clear();
  }
}
