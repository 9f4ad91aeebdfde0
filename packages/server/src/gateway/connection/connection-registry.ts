/**
 * Every socket and event stream that is open in this process, and the one timer for all of them. Each is visited about once
 * a second, a few at a time, so that many thousands that came at the same moment are not pinged at the same moment.
 * Never knows what a connection does when it is visited.
 */
import type { Caller } from "../caller.ts";
import { HEARTBEAT_SLICES } from "../options.ts";

/** `restart`: this process is going down. `unauthenticated`: what let them in is good no longer. */
export type DisconnectReason = "restart" | "unauthenticated";

export interface Connection {
  readonly caller: Caller;
  /** What it makes us hold, in bytes: queued, and in its transport. */
  readonly bufferedBytes: number;
  /** About once a second, with the time by `performance.now`. */
  onHeartbeat(now: number): void;
  /** Tells the other side why, and goes. */
  close(why: DisconnectReason): void;
  /** Ends it without a word. */
  destroy(): void;
}

/** How long those who were told to go may take. */
const GRACE_MS = 2_000;

export class ConnectionRegistry {
  readonly #open = new Set<Connection>();
  readonly #onError: (error: unknown, about: string) => void;
  /** How long a round of visits takes. */
  readonly heartbeatMs: number;
  #visits = this.#open.values();
  #visited = 0;
  #step = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosing = false;

  constructor(onError: (error: unknown, about: string) => void, heartbeatMs: number) {
    this.#onError = onError;
    this.heartbeatMs = heartbeatMs;
  }

  get size(): number {
    return this.#open.size;
  }

  /** What all of them make us hold, in bytes, and the one that makes us hold the most. */
  held(): { readonly all: number; readonly most: number } {
    let [all, most] = [0, 0];
    for (const { bufferedBytes } of this.#open) {
      all += bufferedBytes;
      if (bufferedBytes > most) most = bufferedBytes;
    }
    return { all, most };
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#open.values();
  }

  /** One that comes while we close is told to go at once. */
  add(connection: Connection): void {
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#visit(), this.heartbeatMs / HEARTBEAT_SLICES).unref();
    if (this.#isClosing) connection.close("restart");
  }

  delete(connection: Connection): void {
    this.#open.delete(connection);
  }

  /** Tells all of them to go, and resolves once they have; who takes too long is cut off. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const connection of this.#open) connection.close("restart");
    const until = performance.now() + GRACE_MS;
    while (this.#open.size > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 10));
    for (const connection of this.#open) connection.destroy();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #visit(): void {
    const now = performance.now();
    this.#step += 1;
    const goal = Math.ceil((this.#open.size * this.#step) / HEARTBEAT_SLICES);
    for (; this.#visited < goal; this.#visited++) {
      const { value, done } = this.#visits.next();
      if (done === true) break;
      try {
        value.onHeartbeat(now);
      } catch (error) {
        this.#onError(error, "a connection");
      }
    }
    if (this.#step < HEARTBEAT_SLICES) return;
    this.#visits = this.#open.values();
    this.#visited = 0;
    this.#step = 0;
  }
}
