/**
 * `ReconnectingConnection` provides a connection and replaces it whenever it ends, until `close` is called.
 *
 * Invariant: it reports every new and every lost connection, so that its owner can check what was missed. Does not send
 * commands.
 */
import { retry } from "../../../util/retry.ts";
import { sleep } from "../../../util/sleep.ts";
import { LogError } from "../../errors.ts";
import type { ConnectionOptions } from "./client.ts";
import { RedisConnection } from "./connection.ts";
import { withTimeout } from "./with-timeout.ts";

export interface ReconnectEvents {
  onOpened(connection: RedisConnection): void;
  onLost(connection: RedisConnection): void;
  /** An attempt to open it failed and will be retried. */
  onFailed(error: unknown): void;
}

/** Longest delay between two attempts to reconnect. */
const RECONNECT_DELAY_MS = 50;

export class ReconnectingConnection {
  readonly #options: ConnectionOptions;
  readonly #events: ReconnectEvents;
  readonly #closing = new AbortController();
  #connection: RedisConnection | null = null;
  #pending = newPending();

  constructor(options: ConnectionOptions, events: ReconnectEvents) {
    this.#options = options;
    this.#events = events;
    void this.#run();
  }

  get connection(): RedisConnection | null {
    return this.#connection;
  }

  /** Returns the connection, or waits for one for up to `connectionWaitMs`. */
  async waitForConnection(connectionWaitMs: number): Promise<RedisConnection> {
    this.#closing.signal.throwIfAborted();
    if (this.#connection !== null) return this.#connection;
    return withTimeout(this.#pending.promise, {
      ms: connectionWaitMs,
      message: "No connection",
      keepAlive: true,
    });
  }

  close(): void {
    const closed = new LogError("UNAVAILABLE", { detail: "The connection was closed" });
    this.#closing.abort(closed);
    this.#pending.reject(closed);
    this.#connection?.destroy();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const connection = await this.#open(signal);
      if (connection === null) continue;
      this.#connection = connection;
      this.#pending.resolve(connection);
      this.#events.onOpened(connection);
      await connection.ended;
      // A connection that broke by itself also needs this, to release its resources.
      connection.destroy();
      this.#connection = null;
      if (signal.aborted) return;
      this.#pending = newPending();
      this.#events.onLost(connection);
    }
  }

  /** Returns null once it is closed. */
  async #open(signal: AbortSignal): Promise<RedisConnection | null> {
    try {
      const connection = await retry(() => RedisConnection.open(this.#options, signal), {
        isRetryable: () => true,
        initialDelayMs: RECONNECT_DELAY_MS,
        signal,
        sleep: (ms) => sleep(ms, { signal, unref: true }),
        onRetry: (error) => this.#events.onFailed(error),
      });
      if (!signal.aborted) return connection;
      connection.destroy();
    } catch {
      // `retry` fails only after `close`.
    }
    return null;
  }
}

function newPending(): PromiseWithResolvers<RedisConnection> {
  const pending = Promise.withResolvers<RedisConnection>();
  // Without a handler, a rejection while no caller waits would be unhandled.
  pending.promise.catch(() => undefined);
  return pending;
}
