/**
 * Notices when a server can't be reached, and says so once, until it is there again. Never tells of a moment, such as
 * a failover takes, and never a password.
 */
import { LogError } from "../../errors.ts";

/** Shorter than one try at a server that doesn't answer, so that the first one tells. */
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

  /** Whether any server has ever been there: if not, the address is more likely wrong than a server restarting. */
  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  /** Who comes late is told of what still lasts. @returns ends it */
  listen(listener: OutageListener): () => void {
    this.#listeners.add(listener);
    for (const error of this.#reported.values()) listener(error);
    return () => void this.#listeners.delete(listener);
  }

  /** There is no connection to it, and one is sought. */
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

  /** Some server did, over whichever connection. */
  answered(): void {
    this.#hasConnected = true;
  }

  /** Nobody seeks it any more. */
  forget(address: string): void {
    this.#since.delete(address);
    this.#reported.delete(address);
  }
}
