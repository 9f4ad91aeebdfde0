/**
 * `CommandQueue` runs the commands of one socket. Does not interpret the commands.
 * Invariant: commands of one session run one after the other, in the order of arrival; others run concurrently. While
 * a session id is looked up, later commands with a session wait, because they may belong to the same one. At most 32
 * commands and `maxBytes` are accepted at a time; a further one is refused and never executed. `work` must not throw.
 */

const MAX_COMMANDS = 32;

export class CommandQueue {
  readonly #last = new Map<string, Promise<void>>();
  readonly #maxBytes: number;
  /** Set while session ids are looked up. Later commands may belong to the same session, so they wait. */
  #resolving: Promise<void> | null = null;
  #count = 0;
  #bytes = 0;

  /** @param maxBytes limit for all running commands together. A single command may exceed it. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True if no command is running, so the queue can be discarded. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  /**
   * @param session the session's id, or a function that finds it; null for commands without a session. Neither it nor
   * `work` may throw.
   * @returns false if too many commands are running; the command is then not executed
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
