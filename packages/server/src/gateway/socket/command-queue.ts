/**
 * The commands of one socket that are under way: in order for each session, side by side otherwise, and never more than a
 * bound of them. Never knows what a command is.
 */

const MAX_COMMANDS = 32;

export class CommandQueue {
  readonly #last = new Map<string, Promise<void>>();
  readonly #maxBytes: number;
  #count = 0;
  #bytes = 0;

  /** @param maxBytes of all that are under way; one alone may always be */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * @param work must not throw
   * @returns false when too many are under way: it will not be done
   */
  add(session: string, bytes: number, work: () => Promise<void>): boolean {
    if (this.#count >= MAX_COMMANDS || (this.#count > 0 && this.#bytes + bytes > this.#maxBytes))
      return false;
    this.#count += 1;
    this.#bytes += bytes;
    const done = this.#after(this.#last.get(session), work).finally(() => {
      this.#count -= 1;
      this.#bytes -= bytes;
      if (this.#last.get(session) === done) this.#last.delete(session);
    });
    this.#last.set(session, done);
    return true;
  }

  async #after(before: Promise<void> | undefined, work: () => Promise<void>): Promise<void> {
    if (before !== undefined) await before;
    await work();
  }
}
