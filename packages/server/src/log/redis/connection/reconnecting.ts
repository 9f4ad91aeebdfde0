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
  readonly reconnectMs: number;
}

export interface ReconnectEvents {
  opened(link: RedisConnection): void;
  lost(link: RedisConnection): void;
  /** It could not be opened, and is tried again. */
  failed(error: unknown): void;
}

export class ReconnectingConnection {
  readonly #options: ReconnectOptions;
  readonly #events: ReconnectEvents;
  readonly #closing = new AbortController();
  #link: RedisConnection | null = null;
  #next = nextLink();

  constructor(options: ReconnectOptions, events: ReconnectEvents) {
    this.#options = options;
    this.#events = events;
    void this.#keep();
  }

  get link(): RedisConnection | null {
    return this.#link;
  }

  /** A connection, now or as soon as there is one. */
  async linked(waitMs: number): Promise<RedisConnection> {
    if (this.#closing.signal.aborted) throw closed();
    if (this.#link !== null) return this.#link;
    return withTimeout(this.#next.promise, { ms: waitMs, message: "No connection", keepAlive: true });
  }

  close(): void {
    this.#closing.abort();
    this.#next.reject(closed());
    this.#link?.destroy();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const link = await this.#open(signal);
      if (link === null) continue;
      this.#link = link;
      this.#next.resolve(link);
      this.#events.opened(link);
      await link.ended;
      // It also has to let go of what a connection that broke by itself leaves behind.
      link.destroy();
      this.#link = null;
      if (signal.aborted) return;
      this.#next = nextLink();
      this.#events.lost(link);
    }
  }

  /** Null once it is closed. */
  async #open(signal: AbortSignal): Promise<RedisConnection | null> {
    try {
      const connection = await retry(() => RedisConnection.open(this.#options, signal), {
        isRetryable: () => true,
        initialDelayMs: this.#options.reconnectMs,
        signal,
        sleep: (ms) => sleep(ms, { signal, unref: true }),
        onRetry: (error) => this.#events.failed(error),
      });
      if (!signal.aborted) return connection;
      connection.destroy();
    } catch {
      // It fails only once it was closed.
    }
    return null;
  }
}

interface NextLink {
  readonly promise: Promise<RedisConnection>;
  readonly resolve: (link: RedisConnection) => void;
  readonly reject: (error: LogError) => void;
}

const nothing = () => undefined;

function nextLink(): NextLink {
  let resolve: NextLink["resolve"] = nothing;
  let reject: NextLink["reject"] = nothing;
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
