/**
 * A connection for one purpose that is replaced whenever it ends, until the line is closed. Never sends anything
 * over it, and never hides a replacement: each connection is told when it is there and when it is gone.
 */
import { retry } from "../../../util/retry.ts";
import { sleep } from "../../../util/sleep.ts";
import { LogError } from "../../errors.ts";
import type { ConnectionOptions } from "./client.ts";
import { RedisConnection } from "./connection.ts";
import { withTimeout } from "./with-timeout.ts";

export interface ReconnectOptions extends ConnectionOptions {
  readonly reconnectDelayMs: number;
}

export interface ReconnectEvents {
  onOpened(connection: RedisConnection): void;
  onLost(connection: RedisConnection): void;
  /** It could not be opened, and is tried again. */
  onFailed(error: unknown): void;
}

export class ReconnectingConnection {
  readonly #options: ReconnectOptions;
  readonly #events: ReconnectEvents;
  readonly #closing = new AbortController();
  #connection: RedisConnection | null = null;
  #pending = createPending();

  constructor(options: ReconnectOptions, events: ReconnectEvents) {
    this.#options = options;
    this.#events = events;
    void this.#run();
  }

  get connection(): RedisConnection | null {
    return this.#connection;
  }

  /** A connection, now or as soon as there is one. */
  async waitForConnection(connectionWaitMs: number): Promise<RedisConnection> {
    if (this.#closing.signal.aborted) throw closed();
    if (this.#connection !== null) return this.#connection;
    return withTimeout(this.#pending.promise, {
      ms: connectionWaitMs,
      message: "No connection",
      keepAlive: true,
    });
  }

  close(): void {
    this.#closing.abort();
    this.#pending.reject(closed());
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
      // It also has to let go of what a connection that broke by itself leaves behind.
      connection.destroy();
      this.#connection = null;
      if (signal.aborted) return;
      this.#pending = createPending();
      this.#events.onLost(connection);
    }
  }

  /** Null once it is closed. */
  async #open(signal: AbortSignal): Promise<RedisConnection | null> {
    try {
      const connection = await retry(() => RedisConnection.open(this.#options, signal), {
        isRetryable: () => true,
        initialDelayMs: this.#options.reconnectDelayMs,
        signal,
        sleep: (ms) => sleep(ms, { signal, unref: true }),
        onRetry: (error) => this.#events.onFailed(error),
      });
      if (!signal.aborted) return connection;
      connection.destroy();
    } catch {
      // It fails only once it was closed.
    }
    return null;
  }
}

interface PendingConnection {
  readonly promise: Promise<RedisConnection>;
  readonly resolve: (connection: RedisConnection) => void;
  readonly reject: (error: LogError) => void;
}

const nothing = () => undefined;

function createPending(): PendingConnection {
  let resolve: PendingConnection["resolve"] = nothing;
  let reject: PendingConnection["reject"] = nothing;
  const promise = new Promise<RedisConnection>((fulfil, fail) => {
    resolve = fulfil;
    reject = fail;
  });
  // There may be nobody who waits.
  promise.catch(nothing);
  return { promise, resolve, reject };
}

function closed(): LogError {
  return new LogError("UNAVAILABLE", { detail: "The connection was closed" });
}
