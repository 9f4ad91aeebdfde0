/**
 * `ConnectionRegistry` has all open sockets and event streams of this process and calls their heartbeat with one
 * timer. It visits the connections in slices, so that thousands of connections that opened together are not pinged
 * together.
 * Invariant: a round of `heartbeatMs` visits each connection at most once, and an error of one does not affect the
 * others. A connection removes itself with `delete` when it is closed. `close` waits 2 seconds for that, then destroys
 * the rest.
 */
import { sleep } from "../../util/sleep.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { Caller } from "../caller.ts";
import { HEARTBEAT_SLICES } from "../gateway-limits.ts";

/** `serverRestart`: this process is shutting down. `unauthenticated`: the key or token is no longer valid. */
export type DisconnectReason = "serverRestart" | "unauthenticated";

export interface Connection {
  readonly caller: Caller;
  /** Bytes that this process buffers for the connection, in its queue and its transport. */
  readonly bufferedBytes: number;
  /** Called once per `heartbeatMs`, with the time of `performance.now`. */
  onHeartbeat(now: number): void;
  /** Sends the reason to the client and closes. */
  close(reason: DisconnectReason): void;
  /** Closes immediately, without a reason. */
  destroy(): void;
}

/** How long connections may take to close before they are destroyed. */
const CLOSE_TIMEOUT_MS = 2_000;

export class ConnectionRegistry {
  readonly #open = new Set<Connection>();
  readonly #onError: ErrorHandler;
  /** Duration of one round of visits. */
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

  /** Returns the buffered bytes of all connections, and of the one with the most. */
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

  /** A connection that is added during shutdown is closed immediately. */
  add(connection: Connection): void {
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#visitSlice(), this.heartbeatMs / HEARTBEAT_SLICES).unref();
    if (this.#isClosing) connection.close("serverRestart");
  }

  delete(connection: Connection): void {
    this.#open.delete(connection);
  }

  /** Closes all connections and resolves when they are closed. Connections that exceed the timeout are destroyed. */
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
