/**
 * A connection for one purpose that is replaced whenever it ends, until the line is closed. Never sends anything
 * over it, and never hides a replacement: each connection is told when it is there and when it is gone.
 */
import { LogError } from "../../errors.ts";
import type { LinkOptions } from "./client.ts";
import { Link } from "./connection.ts";
import { inTime, pause } from "./with-timeout.ts";

export interface LineOptions extends LinkOptions {
  readonly reconnectMs: number;
}

export interface LineEvents {
  opened(link: Link): void;
  lost(link: Link): void;
  /** It could not be opened, and is tried again. */
  failed(error: unknown): void;
}

export class Line {
  readonly #options: LineOptions;
  readonly #events: LineEvents;
  readonly #closing = new AbortController();
  #link: Link | null = null;
  #next = nextLink();

  constructor(options: LineOptions, events: LineEvents) {
    this.#options = options;
    this.#events = events;
    void this.#keep();
  }

  get link(): Link | null {
    return this.#link;
  }

  /** A connection, now or as soon as there is one. */
  async linked(waitMs: number): Promise<Link> {
    if (this.#closing.signal.aborted) throw closed();
    if (this.#link !== null) return this.#link;
    return inTime(this.#next.promise, { ms: waitMs, lacking: "No connection", hold: true });
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

  async #open(signal: AbortSignal): Promise<Link | null> {
    try {
      const link = await Link.open(this.#options, signal);
      if (!signal.aborted) return link;
      link.destroy();
    } catch (error) {
      if (signal.aborted) return null;
      this.#events.failed(error);
      await pause(this.#options.reconnectMs, signal);
    }
    return null;
  }
}

interface NextLink {
  readonly promise: Promise<Link>;
  readonly resolve: (link: Link) => void;
  readonly reject: (error: LogError) => void;
}

const nothing = () => undefined;

function nextLink(): NextLink {
  let resolve: NextLink["resolve"] = nothing;
  let reject: NextLink["reject"] = nothing;
  const promise = new Promise<Link>((fulfil, fail) => {
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
