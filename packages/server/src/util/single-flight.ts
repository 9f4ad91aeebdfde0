/**
 * `SingleFlight` runs a task once for all concurrent callers with the same key, such as clients of a session that
 * reconnect together.
 * Invariant: results and errors are shared only while the task runs; a later call runs it again. So the key must
 * contain everything that the result and the access to it depend on.
 */

export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, task: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const promise = task().finally(() => this.#running.delete(key));
    this.#running.set(key, promise);
    return promise;
  }
}
