/**
 * `OutageMonitor` reports to its listeners that a server is unreachable.
 *
 * Invariant: it reports an outage once, and again only after the server was connected or forgotten. It ignores
 * interruptions shorter than `REPORT_AFTER_MS`, such as a failover. The message contains host and port, never the URL,
 * which may contain a password.
 */
import { LogError } from "../../errors.ts";

/**
 * Shorter than one connection attempt to a server that doesn't answer, so that the first failed attempt is reported.
 */
const REPORT_AFTER_MS = 2_500;

type OutageListener = (error: LogError) => void;

export class OutageMonitor {
  readonly #now: () => number;
  readonly #since = new Map<string, number>();
  readonly #reported = new Map<string, LogError>();
  readonly #listeners = new Set<OutageListener>();
  #hasConnected = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** True once any server has answered. If none has, the address is more likely wrong than a server restarting. */
  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  /** Adds a listener and calls it for every outage that still lasts. @returns a function that removes the listener */
  listen(listener: OutageListener): () => void {
    this.#listeners.add(listener);
    for (const error of this.#reported.values()) listener(error);
    return () => void this.#listeners.delete(listener);
  }

  /** Records that there is no connection to the server and that a connection attempt starts. */
  connecting(address: string): void {
    this.#since.set(address, this.#now());
  }

  failed(address: string, cause: unknown): void {
    const since = this.#since.get(address);
    if (since === undefined || this.#reported.has(address) || this.#now() - since < REPORT_AFTER_MS) return;
    const error = new LogError("UNAVAILABLE", { detail: `Redis at ${address} can't be reached`, cause });
    this.#reported.set(address, error);
    for (const listener of this.#listeners) listener(error);
  }

  connected(address: string): void {
    this.answered();
    this.forget(address);
  }

  /** Records that a server has answered, over any connection. */
  answered(): void {
    this.#hasConnected = true;
  }

  /** Stops tracking a server. */
  forget(address: string): void {
    this.#since.delete(address);
    this.#reported.delete(address);
  }
}
