/**
 * `RateCounter` counts requests per minute, on Redis for all gateways together, or in this process while Redis is away.
 * Invariant: all counters of a request are sent together, so a request costs one round trip. A client that has exceeded
 * a limit is refused from memory until its minute ends, without a round trip. Every counter expires after a minute.
 */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { ExceededLimit, LimitName, LimitScope } from "../../../store/rules/limits.ts";
import type { Evaluate } from "./evaluate.ts";

export interface RatePoint {
  readonly limit: LimitName;
  readonly scope: LimitScope;
  readonly key: string;
  /** Requests per minute. */
  readonly points: number;
}

type Limiter = Pick<RateLimiterMemory, "consume">;

const WINDOW_SECONDS = 60;
/** One limiter per value of a limit. There are few different values. */
const MAX_LIMITERS = 1_000;
/** Beyond it, the oldest clients are counted in Redis again. */
const MAX_BLOCKED = 50_000;

export class RateCounter {
  readonly #evaluate: Evaluate | null;
  readonly #now: () => number;
  readonly #limiters = new Map<number, Limiter>();
  readonly #blockedUntil = new Map<string, number>();

  constructor({ evaluate, now }: { readonly evaluate: Evaluate | null; readonly now: () => number }) {
    this.#evaluate = evaluate;
    this.#now = now;
  }

  /** Returns the limit that the client has exceeded in this minute, as far as this process knows. */
  findBlocked(points: readonly RatePoint[]): ExceededLimit | null {
    const now = this.#now();
    for (const { key, limit, scope } of points) {
      const until = this.#blockedUntil.get(key);
      if (until === undefined) continue;
      if (until > now) return { limit, scope, retryAfterMs: until - now };
      this.#blockedUntil.delete(key);
    }
    return null;
  }

  /**
   * Counts one request in each counter. Returns the first limit that it exceeds.
   * @param onExceeded called only for the first refusal of the client in a minute
   */
  async consume(
    points: readonly RatePoint[],
    onExceeded: (exceeded: ExceededLimit) => void,
  ): Promise<ExceededLimit | null> {
    const blocked = this.findBlocked(points);
    if (blocked !== null) return blocked;
    const results = await Promise.all(points.map((point) => this.#consumeOne(point)));
    const exceeded = results.find((result) => result !== null) ?? null;
    if (exceeded?.isNew === true) onExceeded(exceeded);
    return exceeded;
  }

  async #consumeOne(point: RatePoint): Promise<(ExceededLimit & { readonly isNew: boolean }) | null> {
    const { limit, scope, key, points } = point;
    try {
      await this.#limiter(points).consume(key);
      return null;
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const retryAfterMs = Math.max(1, error.msBeforeNext);
      const isNew = !this.#blockedUntil.has(key);
      this.#block(key, retryAfterMs);
      return { limit, scope, retryAfterMs, isNew };
    }
  }

  #block(key: string, ms: number): void {
    const [oldest] = this.#blockedUntil.keys();
    if (this.#blockedUntil.size >= MAX_BLOCKED && oldest !== undefined) this.#blockedUntil.delete(oldest);
    this.#blockedUntil.set(key, this.#now() + ms);
  }

  #limiter(points: number): Limiter {
    const known = this.#limiters.get(points);
    if (known !== undefined) return known;
    if (this.#limiters.size >= MAX_LIMITERS) this.#limiters.clear();
    const options = { points, duration: WINDOW_SECONDS, keyPrefix: "" };
    const memory = new RateLimiterMemory(options);
    const limiter =
      this.#evaluate === null
        ? memory
        : new RateLimiterRedis({
            ...options,
            storeClient: toStoreClient(this.#evaluate),
            useRedisPackage: true,
            insuranceLimiter: memory,
          });
    this.#limiters.set(points, limiter);
    return limiter;
  }
}

/** The part of a Redis client that the library uses for counting. */
function toStoreClient(evaluate: Evaluate) {
  return {
    eval: (
      script: string,
      { keys, arguments: args }: { readonly keys: readonly string[]; readonly arguments: readonly string[] },
    ) => evaluate(script, keys, args),
  };
}
