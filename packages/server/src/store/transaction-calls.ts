/**
 * What is being done through the `tx` of one transaction, so that its end waits for all of it: a call that was
 * still under way would go on behind the end, and what it does then would stay. Never begins or ends one itself.
 */
import { isStoreError, StoreError } from "./errors.ts";
import type { Store, StorePorts } from "./store.ts";
import { wrapPorts } from "./wrap-ports.ts";

/** Runs `work` on `ports` once; see `Store.transaction` for what it promises. */
export async function trackTransaction<T>(ports: StorePorts, work: (tx: Store) => Promise<T>): Promise<T> {
  const calls = new TransactionCalls();
  const tx: Store = {
    ...wrapPorts(ports, (name, _, call) => calls.add(name, call)),
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
    // A call that throws at once is one that failed, too.
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
      // PostgreSQL has given the transaction up already, whether `work` caught the error or not.
      if (this.#first !== null) throw this.#first.error;
      return result;
    } catch (error) {
      await this.#end();
      // What was refused because of an earlier error says less than that one.
      throw isStoreError(error, "ABORTED") && this.#first !== null ? this.#first.error : error;
    }
  }

  async #end(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#underWay);
  }
}
