/**
 * `FetchLifetime` ends a fetch when it is done, its timeout elapses or its caller aborts it.
 * Invariant: each of these closes the connection, and the first one determines the error that the caller gets. One
 * timeout covers all redirects and the body. `end` must be called on every path, or the connection stays open until
 * the timeout. Every other error becomes a FetchError.
 */
import type { Agent } from "undici";
import { FetchError } from "./errors.ts";

export class FetchLifetime {
  readonly #work = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #agent: Agent | null = null;
  readonly #onAbort = (): void => this.#stop(this.#outer.reason);

  constructor(outer: AbortSignal, timeoutMs: number) {
    outer.throwIfAborted();
    this.#outer = outer;
    outer.addEventListener("abort", this.#onAbort, { once: true });
    this.#timer = setTimeout(() => this.#stop(new FetchError("TIMEOUT")), timeoutMs).unref();
  }

  get signal(): AbortSignal {
    return this.#work.signal;
  }

  openAgent(agent: Agent): Agent {
    this.closeAgent();
    this.#agent = agent;
    return agent;
  }

  closeAgent(): void {
    void this.#agent?.destroy().catch(() => undefined);
    this.#agent = null;
  }

  #stop(reason: unknown): void {
    this.#work.abort(reason);
    this.closeAgent();
  }

  /**
   * Closes the connection and stops the timer.
   * @returns the error for the caller
   */
  end(error?: unknown): unknown {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#onAbort);
    this.closeAgent();
    return this.#work.signal.aborted ? this.#work.signal.reason : typed(error);
  }
}

function typed(error: unknown): FetchError {
  if (error instanceof FetchError) return error;
  const { code = "", name = "" } = error instanceof Error ? (error as Error & { code?: string }) : {};
  if (/^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/.test(code))
    return new FetchError("TIMEOUT", error);
  const isUnreadable =
    name === "HTTPParserError" || /^(UND_ERR_HEADERS_OVERFLOW|Z_.*|ERR_.*BROTLI.*|ERR__.*)$/.test(code);
  return new FetchError(isUnreadable ? "BAD_RESPONSE" : "UNREACHABLE", error);
}
