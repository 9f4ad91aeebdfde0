/**
 * `SingleFlight` runs a task once for all concurrent callers with the same key, such as clients of a session that
 * reconnect together. Results are not cached: a later call runs the task again.
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
