/**
 * The commands of one socket that are under way: in order for each session, side by side otherwise, and never more than a
 * bound of them. Never knows what a command is.
 */

const MAX_COMMANDS = 32;

export class CommandQueue {
  readonly #last = new Map<string, Promise<void>>();
  readonly #maxBytes: number;
  /** While ids are being looked up: commands that come meanwhile may be of the same sessions, and queue behind. */
  #resolving: Promise<void> | null = null;
  #count = 0;
  #bytes = 0;

  /** @param maxBytes of all that are under way; one alone may always be */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Nothing is under way, so that a new one is as good. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  /**
   * @param session its id, or how to find it; null for what is of none. Must not throw, and neither must the work
   * @returns false when too many are under way: it will not be done
   */
  add(session: string | (() => Promise<string>) | null, bytes: number, work: () => Promise<void>): boolean {
    if (this.#count >= MAX_COMMANDS || (this.#count > 0 && this.#bytes + bytes > this.#maxBytes))
      return false;
    this.#count += 1;
    this.#bytes += bytes;
    const countedWork = async (): Promise<void> => {
      await work();
      this.#count -= 1;
      this.#bytes -= bytes;
    };
    if (session === null) void countedWork();
    else if (typeof session === "string" && this.#resolving === null) this.#enqueue(session, countedWork);
    else this.#enqueueResolved(session, countedWork);
    return true;
  }

  #enqueue(session: string, work: () => Promise<void>): void {
    const done = this.#after(this.#last.get(session), work).finally(() => {
      if (this.#last.get(session) === done) this.#last.delete(session);
    });
    this.#last.set(session, done);
  }

  #enqueueResolved(session: string | (() => Promise<string>), work: () => Promise<void>): void {
    const resolved = this.#after(this.#resolving ?? undefined, async () =>
      this.#enqueue(typeof session === "string" ? session : await session(), work),
    ).finally(() => {
      if (this.#resolving === resolved) this.#resolving = null;
    });
    this.#resolving = resolved;
  }

  async #after(before: Promise<void> | undefined, work: () => Promise<void>): Promise<void> {
    if (before !== undefined) await before;
    await work();
  }
}
