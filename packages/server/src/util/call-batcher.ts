/**
 * `CallBatcher` collects the calls of one turn of the event loop and executes those of a group together, so that
 * thousands of reconnecting clients cost few round trips. Invariant: a batch contains only calls that were made before
 * it started, so a result is never older than its call. The calls of a batch keep their order, and an error rejects all
 * of them. A batch has at most `maxSize` calls. Nothing is cached.
 */

interface PendingCall<Item, Result> extends PromiseWithResolvers<Result> {
  readonly item: Item;
}

export class CallBatcher<Item, Result> {
  readonly #execute: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #maxSize: number;
  #groups = new Map<string, PendingCall<Item, Result>[]>();

  /** @param execute returns one result per item, in their order */
  constructor(execute: (items: readonly Item[]) => Promise<readonly Result[]>, maxSize: number) {
    this.#execute = execute;
    this.#maxSize = maxSize;
  }

  /** @param group only calls of the same group are executed together */
  call(group: string, item: Item): Promise<Result> {
    if (this.#groups.size === 0) setImmediate(() => this.#executeAll());
    const call = { item, ...Promise.withResolvers<Result>() };
    const calls = this.#groups.get(group) ?? [];
    calls.push(call);
    this.#groups.set(group, calls);
    return call.promise;
  }

  #executeAll(): void {
    const groups = this.#groups;
    this.#groups = new Map();
    for (const calls of groups.values())
      for (let n = 0; n < calls.length; n += this.#maxSize)
        void this.#executeBatch(calls.slice(n, n + this.#maxSize));
  }

  async #executeBatch(calls: readonly PendingCall<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#execute(calls.map(({ item }) => item));
      for (const [n, { resolve }] of calls.entries()) resolve(results[n] as Result);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}
