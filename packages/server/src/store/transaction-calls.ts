/**
 * `trackTransaction` runs the work of one transaction and waits for all calls through its `tx`. Does not begin or
 * commit; the store does.
 *
 * Invariant: no call runs after the end. It would execute outside the transaction, and its effects would stay. After a
 * failed call, further calls throw ABORTED, and the transaction fails even if `work` caught the error.
 */
import { isStoreError, StoreError } from "./errors.ts";
import type { Store, StoreParts } from "./store.ts";
import { wrapParts } from "./wrap-parts.ts";

/** Runs `work` once on `parts`. `Store.transaction` documents the guarantees. */
export async function trackTransaction<T>(parts: StoreParts, work: (tx: Store) => Promise<T>): Promise<T> {
  const calls = new TransactionCalls();
  const tx: Store = {
    ...wrapParts(parts, (name, _, call) => calls.add(name, call)),
    transaction: (inner) => calls.add("transaction", () => inner(tx)),
  };
  return calls.endAfter(() => work(tx));
}

class TransactionCalls {
  readonly #underWay = new Set<Promise<unknown>>();
  #first: { readonly error: unknown } | null = null;
  #isOver = false;

  async add<T>(name: string, call: () => Promise<T>): Promise<T> {
    if (this.#isOver || this.#first !== null) throw new StoreError("ABORTED", name);
    // The async function turns a synchronous throw into a rejection, so that it also counts as a failed call.
    const running = (async () => call())();
    this.#underWay.add(running);
    try {
      return await running;
    } catch (error) {
      this.#first ??= { error };
      throw error;
    } finally {
      this.#underWay.delete(running);
    }
  }

  async endAfter<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      await this.#end();
      // PostgreSQL has already aborted the transaction, whether or not `work` caught the error.
      if (this.#first !== null) throw this.#first.error;
      return result;
    } catch (error) {
      await this.#end();
      // An ABORTED error only follows from the first error, so throw the first one.
      throw isStoreError(error, "ABORTED") && this.#first !== null ? this.#first.error : error;
    }
  }

  async #end(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#underWay);
  }
}
