/**
 * `RateCounter` counts requests per minute, on Redis for all gateways together, or in this process while Redis is away.
 * Invariant: all counters of a request are sent together, so a request costs one round trip. Requests of one tenant in
 * the same turn of the event loop share it. A client that has exceeded a limit is refused from memory until its minute
 * ends, without a round trip. Every counter expires after a minute.
 */
import type { ExceededLimit, LimitName, LimitScope } from "../../store/rules/limits.ts";
import type { Log } from "../../log/log.ts";
import { CallBatcher } from "../../util/call-batcher.ts";
import { withTimeout } from "../../util/with-timeout.ts";
import { hashTag } from "./limit-keys.ts";

export interface RatePoint {
  readonly limit: LimitName;
  readonly scope: LimitScope;
  readonly key: string;
  /** Requests per minute. */
  readonly points: number;
}

const WINDOW_SECONDS = 60;
/** Beyond it, the oldest counters of this process start again. */
const MAX_LOCAL = 50_000;
/** Beyond it, the oldest clients are counted in Redis again. */
const MAX_BLOCKED = 50_000;

export class RateCounter {
  /** Null without Redis. */
  readonly #inRedis: CallBatcher<string, Counted> | null;
  readonly #now: () => number;
  /** The counters of this process, in the order in which their windows end. */
  readonly #local = new Map<string, { count: number; readonly until: number }>();
  readonly #blockedUntil = new Map<string, number>();

  constructor({ evaluate }: Pick<Log, "evaluate">, now: () => number) {
    this.#inRedis = evaluate === undefined ? null : createRedisCounter(failWhileAway(evaluate));
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
    const [count, ttlMs] = await this.#count(key);
    if (count <= points) return null;
    const retryAfterMs = Math.max(1, ttlMs);
    const isNew = !this.#blockedUntil.has(key);
    this.#block(key, retryAfterMs);
    return { limit, scope, retryAfterMs, isNew };
  }

  async #count(key: string): Promise<Counted> {
    try {
      if (this.#inRedis !== null) return await this.#inRedis.call(hashTag(key), key);
    } catch {
      // Redis is away, which the log reports.
    }
    return this.#countHere(key);
  }

  #countHere(key: string): Counted {
    const now = this.#now();
    for (const [oldest, { until }] of this.#local) {
      if (until > now && this.#local.size < MAX_LOCAL) break;
      this.#local.delete(oldest);
    }
    const counter = this.#local.get(key) ?? { count: 0, until: now + WINDOW_SECONDS * 1_000 };
    this.#local.set(key, counter);
    return [++counter.count, counter.until - now];
  }

  #block(key: string, ms: number): void {
    const [oldest] = this.#blockedUntil.keys();
    if (this.#blockedUntil.size >= MAX_BLOCKED && oldest !== undefined) this.#blockedUntil.delete(oldest);
    this.#blockedUntil.set(key, this.#now() + ms);
  }
}

type Evaluate = NonNullable<Log["evaluate"]>;

const TIMEOUT_MS = 2_000;
const AWAY_MS = 5_000;

/**
 * After a timeout, every call fails at once for some seconds. So a Redis that hangs delays one request in that time and
 * not all of them. A failed call may have been executed.
 */
function failWhileAway(evaluate: Evaluate): Evaluate {
  let awayUntil = 0;
  return async (script, keys, args) => {
    if (performance.now() < awayUntil) throw new Error("Redis did not answer in time.");
    const onTimeout = (): never => {
      awayUntil = performance.now() + AWAY_MS;
      throw new Error("Redis did not answer in time.");
    };
    return withTimeout(evaluate(script, keys, args), { ms: TIMEOUT_MS, onTimeout });
  };
}

/**
 * Counts requests. KEYS: counters. ARGV: the window in seconds, and the requests of each counter. Returns the count and
 * the remaining ms of each counter.
 */
const COUNT = `
local results = {}
for i, key in ipairs(KEYS) do
  redis.call('SET', key, 0, 'EX', ARGV[1], 'NX')
  results[2 * i - 1] = redis.call('INCRBY', key, ARGV[i + 1])
  local ttl = redis.call('PTTL', key)
  if ttl == -1 then
    redis.call('EXPIRE', key, ARGV[1])
    ttl = 1000 * ARGV[1]
  end
  results[2 * i] = ttl
end
return results`;

/** How many requests one script counts at most, so that it does not delay other commands for long. */
const MAX_BATCH = 200;

/** A count after one request, and the remaining ms of its window. */
type Counted = readonly [count: number, ttlMs: number];

function createRedisCounter(evaluate: Evaluate): CallBatcher<string, Counted> {
  return new CallBatcher((keys) => countInRedis(evaluate, keys), MAX_BATCH);
}

/** Counts one request per key. A key that occurs several times counts up. */
async function countInRedis(evaluate: Evaluate, keys: readonly string[]): Promise<Counted[]> {
  const requests = new Map<string, number>();
  for (const key of keys) requests.set(key, (requests.get(key) ?? 0) + 1);
  const args = [String(WINDOW_SECONDS), ...[...requests.values()].map(String)];
  const reply = (await evaluate(COUNT, [...requests.keys()], args)) as readonly number[];
  const counters = new Map<string, { count: number; readonly ttlMs: number }>();
  for (const [n, [key, more]] of [...requests].entries())
    counters.set(key, { count: Number(reply[2 * n]) - more, ttlMs: Number(reply[2 * n + 1]) });
  return keys.map((key) => {
    const counter = counters.get(key) as { count: number; readonly ttlMs: number };
    return [++counter.count, counter.ttlMs];
  });
}
