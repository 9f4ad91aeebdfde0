/**
 * A connection to Redis that is opened when first needed and again whenever it is lost, to one server after the
 * other of those that were named. Never throws, and never keeps the process alive.
 */
import {
  type RedisClient,
  createConnectionClient,
  type ConnectionOptions,
} from "../log/redis/connection/client.ts";
import { withTimeout, pause } from "../log/redis/connection/with-timeout.ts";

export interface ReconnectOptions extends Omit<ConnectionOptions, "url"> {
  readonly urls: readonly string[];
  /** How often to ask whether the server is still there. */
  readonly pulseMs: number;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

export class ReconnectingConnection {
  readonly #options: ReconnectOptions;
  readonly #onOpen: (client: RedisClient) => Promise<unknown>;
  readonly #closed = new AbortController();
  #running: Promise<void> | null = null;
  #client: RedisClient | null = null;

  /** @param onOpen is done before the client is given out; a connection on which it fails is not used */
  constructor(options: ReconnectOptions, onOpen: (client: RedisClient) => Promise<unknown>) {
    this.#options = options;
    this.#onOpen = onOpen;
  }

  /** Null while there is no connection. */
  get client(): RedisClient | null {
    return this.#client;
  }

  open(): void {
    if (!this.#closed.signal.aborted) this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { urls } = this.#options;
    let pauseMs = FIRST_PAUSE_MS;
    for (let n = 0; !this.#closed.signal.aborted; n++) {
      const wasOpen = await this.#once(urls[n % urls.length] ?? "");
      pauseMs = wasOpen ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      await pause(pauseMs, this.#closed.signal);
    }
  }

  /** One connection, from its opening to its end. @returns whether it was of use */
  async #once(url: string): Promise<boolean> {
    const { patienceMs } = this.#options;
    const over = new AbortController();
    const ending = AbortSignal.any([over.signal, this.#closed.signal]);
    let wasOpen = false;
    try {
      const client = createConnectionClient({ ...this.#options, url });
      const end = () => over.abort();
      client.on("error", () => undefined);
      client.once("end", end).once("terminated", end);
      // Until it is connected there is no socket that it could destroy.
      client.on("connect", () => ending.aborted && client.destroy());
      ending.addEventListener("abort", () => client.destroy(), { once: true });
      client.unref();
      await withTimeout(this.#prepare(client), { ms: patienceMs, message: "No connection" });
      if (!ending.aborted) {
        this.#client = client;
        wasOpen = true;
        await this.#watch(client, ending);
      }
    } catch {
      // The next one may be luckier.
    }
    this.#client = null;
    over.abort();
    return wasOpen;
  }

  async #prepare(client: RedisClient): Promise<void> {
    await client.connect();
    await this.#onOpen(client);
  }

  /** A server may be gone without a word. */
  async #watch(client: RedisClient, ending: AbortSignal): Promise<void> {
    const { pulseMs, patienceMs } = this.#options;
    while (true) {
      await pause(pulseMs, ending);
      if (ending.aborted) return;
      await withTimeout(client.sendCommand(["PING"]), { ms: patienceMs, message: "No answer" });
    }
  }
}
