/**
 * `OpenCounter` counts open sockets, streams and subscriptions on all gateways together, or in this process while Redis
 * is away.
 * Invariant: the count of a gateway is a lease that it renews, so the counts of a killed gateway expire. One script
 * compares all limits of a caller and adds to all counters, or to none. Redis gets absolute counts with each renewal, so
 * a wiped Redis has the right counts again after one.
 */
import type { ExceededLimit, LimitName, LimitScope } from "../../../store/rules/limits.ts";
import type { Evaluate } from "./evaluate.ts";

export interface OpenPoint {
  readonly limit: LimitName;
  readonly scope: LimitScope;
  readonly key: string;
  /** Null for no limit: then the gateway only counts. */
  readonly most: number | null;
}

/** How long a client waits for another of its connections to close, because the server can't know it. */
const RETRY_MS = 5_000;
const KEYS_PER_CALL = 500;

/**
 * Adds one to every counter, unless one has reached its limit. Each field of a counter is a gateway with its count and
 * the end of its lease. KEYS: counters. ARGV: gateway, lease in ms, the limit of each counter (-1 for none).
 * Returns 0, or the number of the counter that has reached its limit.
 */
const OPEN = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local own = {}
for i, key in ipairs(KEYS) do
  local sum = 0
  local fields = redis.call('HGETALL', key)
  for n = 1, #fields, 2 do
    local count, lease = string.match(fields[n + 1], '^(%d+):(%d+)$')
    if tonumber(lease) <= now then
      redis.call('HDEL', key, fields[n])
    else
      sum = sum + tonumber(count)
      if fields[n] == ARGV[1] then own[i] = tonumber(count) end
    end
  end
  local most = tonumber(ARGV[i + 2])
  if most >= 0 and sum + 1 > most then return i end
end
local lease = string.format('%.0f', now + tonumber(ARGV[2]))
for i, key in ipairs(KEYS) do
  redis.call('HSET', key, ARGV[1], ((own[i] or 0) + 1) .. ':' .. lease)
  redis.call('PEXPIRE', key, ARGV[2])
end
return 0`;

/** Sets the counts of one gateway and renews their leases. ARGV: gateway, lease in ms, the count of each counter. */
const RENEW = `
local time = redis.call('TIME')
local lease = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]))
for i, key in ipairs(KEYS) do
  if ARGV[i + 2] == '0' then
    redis.call('HDEL', key, ARGV[1])
  else
    redis.call('HSET', key, ARGV[1], ARGV[i + 2] .. ':' .. lease)
    redis.call('PEXPIRE', key, ARGV[2])
  end
end
return 0`;

export class OpenCounter {
  readonly #evaluate: Evaluate | null;
  readonly #gateway: string;
  readonly #leaseMs: number;
  readonly #counts = new Map<string, number>();
  /** Counters whose value in Redis may differ from the local one. */
  #changed = new Set<string>();
  #isFlushing = false;
  readonly #timer: NodeJS.Timeout | null;

  constructor(options: {
    readonly evaluate: Evaluate | null;
    /** A unique id of this process. */
    readonly gateway: string;
    readonly leaseMs: number;
  }) {
    this.#evaluate = options.evaluate;
    this.#gateway = options.gateway;
    this.#leaseMs = options.leaseMs;
    this.#timer =
      this.#evaluate === null
        ? null
        : setInterval(
            () => void this.#send([...this.#counts.keys(), ...this.#takeChanged()]),
            this.#leaseMs / 3,
          ).unref();
  }

  /**
   * Counts one more open thing.
   * @returns the limit that is reached, or a function that counts it as closed. Calling it again does nothing
   */
  async open(points: readonly OpenPoint[]): Promise<ExceededLimit | (() => void)> {
    // Reserved before the round trip, so that concurrent calls of this process don't pass together.
    for (const { key } of points) this.#counts.set(key, this.#count(key) + 1);
    const exceeded = this.#findExceededHere(points) ?? (await this.#openInRedis(points));
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      for (const { key } of points) this.#subtract(key);
      this.#flushSoon();
    };
    if (exceeded === null) return close;
    const { limit, scope } = exceeded;
    close();
    return { limit, scope, retryAfterMs: RETRY_MS };
  }

  /** Ends the renewal. Sends the counts that changed last, so that other gateways see the closed connections. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#flush();
  }

  #count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #subtract(key: string): void {
    const count = this.#count(key) - 1;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
    this.#changed.add(key);
  }

  #findExceededHere(points: readonly OpenPoint[]): OpenPoint | null {
    return points.find(({ key, most }) => most !== null && this.#count(key) > most) ?? null;
  }

  async #openInRedis(points: readonly OpenPoint[]): Promise<OpenPoint | null> {
    if (this.#evaluate === null) return null;
    const args = [this.#gateway, String(this.#leaseMs), ...points.map(({ most }) => String(most ?? -1))];
    try {
      const keys = points.map(({ key }) => key);
      const reached = Number(await this.#evaluate(OPEN, keys, args));
      return reached === 0 ? null : (points[reached - 1] ?? null);
    } catch {
      // The limits of this process apply, and the next renewal sends the count.
      return null;
    }
  }

  #flushSoon(): void {
    if (this.#evaluate === null) {
      this.#changed.clear();
      return;
    }
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      void this.#flush();
    });
  }

  #flush(): Promise<void> {
    return this.#send(this.#takeChanged());
  }

  #takeChanged(): readonly string[] {
    const changed = [...this.#changed];
    this.#changed = new Set();
    return changed;
  }

  /** Sends the local counts. After a failure, the next renewal sends them again. */
  async #send(keys: readonly string[]): Promise<void> {
    const evaluate = this.#evaluate;
    if (evaluate === null || keys.length === 0) return;
    try {
      await Promise.all(
        groupByTag(keys).map((group) => {
          const counts = group.map((key) => String(this.#count(key)));
          return evaluate(RENEW, group, [this.#gateway, String(this.#leaseMs), ...counts]);
        }),
      );
    } catch {
      // The log reports outages of Redis.
      if (this.#changed.size < MAX_CHANGED) for (const key of keys) this.#changed.add(key);
    }
  }
}

/** Beyond it, closed counters are left to the end of their lease. */
const MAX_CHANGED = 100_000;

/** A script may only use keys with the same hash tag. */
function groupByTag(keys: readonly string[]): string[][] {
  const byTag = new Map<string, string[]>();
  for (const key of keys) {
    const tag = key.slice(0, key.indexOf("}"));
    const group = byTag.get(tag) ?? [];
    group.push(key);
    byTag.set(tag, group);
  }
  return [...byTag.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / KEYS_PER_CALL) }, (_, n) =>
      group.slice(n * KEYS_PER_CALL, (n + 1) * KEYS_PER_CALL),
    ),
  );
}
