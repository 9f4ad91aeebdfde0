/**
 * Every socket and event stream that is open in this process, and the one timer for all of them. Each is visited about once
 * a second, a few at a time, so that many thousands that came at the same moment are not pinged at the same moment.
 * Never knows what a connection does when it is visited.
 */
import { sleep } from "../../util/sleep.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { Caller } from "../caller.ts";
import { HEARTBEAT_SLICES } from "../options.ts";

/** `serverRestart`: this process is shutting down. `unauthenticated`: the key or token is no longer valid. */
export type DisconnectReason = "serverRestart" | "unauthenticated";

export interface Connection {
  readonly caller: Caller;
  /** What this process buffers for it, in bytes: queued, and in its transport. */
  readonly bufferedBytes: number;
  /** About once a second, with the time by `performance.now`. */
  onHeartbeat(now: number): void;
  /** Sends the other side the reason, and closes. */
  close(reason: DisconnectReason): void;
  /** Closes it at once, without a reason. */
  destroy(): void;
}

/** How long connections may take to close before they are destroyed. */
const CLOSE_TIMEOUT_MS = 2_000;

export class ConnectionRegistry {
  readonly #open = new Set<Connection>();
  readonly #onError: ErrorHandler;
  /** How long a round of visits takes. */
  readonly heartbeatMs: number;
  #iterator = this.#open.values();
  #visited = 0;
  #slice = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosing = false;

  constructor(onError: ErrorHandler, heartbeatMs: number) {
    this.#onError = onError;
    this.heartbeatMs = heartbeatMs;
  }

  get size(): number {
    return this.#open.size;
  }

  /** What this process buffers for all of them, and for the one with the most, in bytes. */
  bufferedBytes(): { readonly total: number; readonly max: number } {
    let [total, max] = [0, 0];
    for (const { bufferedBytes } of this.#open) {
      total += bufferedBytes;
      if (bufferedBytes > max) max = bufferedBytes;
    }
    return { total, max };
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#open.values();
  }

  /** A connection that comes during shutdown is closed at once. */
  add(connection: Connection): void {
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#visitSlice(), this.heartbeatMs / HEARTBEAT_SLICES).unref();
    if (this.#isClosing) connection.close("serverRestart");
  }

  delete(connection: Connection): void {
    this.#open.delete(connection);
  }

  /** Closes all of them, and resolves once they are closed; those that take too long are destroyed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const connection of this.#open) connection.close("serverRestart");
    const until = performance.now() + CLOSE_TIMEOUT_MS;
    while (this.#open.size > 0 && performance.now() < until) await sleep(10);
    for (const connection of this.#open) connection.destroy();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #visitSlice(): void {
    const now = performance.now();
    this.#slice += 1;
    const target = Math.ceil((this.#open.size * this.#slice) / HEARTBEAT_SLICES);
    for (; this.#visited < target; this.#visited++) {
      const { value, done } = this.#iterator.next();
      if (done === true) break;
      try {
        value.onHeartbeat(now);
      } catch (error) {
        this.#onError(error, { during: "a connection" });
      }
    }
    if (this.#slice < HEARTBEAT_SLICES) return;
    this.#iterator = this.#open.values();
    this.#visited = 0;
    this.#slice = 0;
  }
}
