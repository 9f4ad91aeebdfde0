/**
 * `OpenCounter` counts open sockets, streams and subscriptions on all gateways together, or in this process while Redis
 * is away.
 * Invariant: the count of a gateway is a lease that it renews, so the counts of a killed gateway expire. One script
 * compares all limits of a caller and adds to all counters, or to none. It handles the callers of one tenant in the same
 * turn of the event loop together, in their order. Redis gets absolute counts with each renewal, so
 * a wiped Redis has the right counts again after one.
 */
import type { ExceededLimit, LimitName, LimitScope } from "../../../store/rules/limits.ts";
import { CallBatcher } from "../../../util/call-batcher.ts";
import type { Evaluate } from "./evaluate.ts";
import { hashTag } from "./limit-keys.ts";

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
/** How many requests one script handles at most, so that it does not delay other commands for long. */
const MAX_BATCH = 100;

/**
 * For each request, adds one to all its counters, unless one has reached its limit. Each field of a counter is a gateway
 * with its count and the end of its lease. KEYS: the counters of all requests. ARGV: gateway, lease in ms, and per
 * request the number of its counters and the limit of each (-1 for none). Returns per request 0, or the number of the
 * counter that has reached its limit.
 */
const OPEN = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = string.format('%.0f', now + tonumber(ARGV[2]))
local results = {}
local first, arg = 1, 3
while arg <= #ARGV do
  local size = tonumber(ARGV[arg])
  local own = {}
  local reached = 0
  for i = 1, size do
    local key = KEYS[first + i - 1]
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
    local most = tonumber(ARGV[arg + i])
    if most >= 0 and sum + 1 > most then
      reached = i
      break
    end
  end
  if reached == 0 then
    for i = 1, size do
      local key = KEYS[first + i - 1]
      redis.call('HSET', key, ARGV[1], ((own[i] or 0) + 1) .. ':' .. ends)
      redis.call('PEXPIRE', key, ARGV[2])
    end
  end
  results[#results + 1] = reached
  first = first + size
  arg = arg + size + 1
end
return results`;

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
  /** Null without Redis. */
  readonly #opens: CallBatcher<readonly OpenPoint[], number> | null;
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
    const { evaluate } = options;
    this.#opens =
      evaluate === null ? null : new CallBatcher((requests) => this.#openAll(evaluate, requests), MAX_BATCH);
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
    if (this.#opens === null) return null;
    try {
      const reached = await this.#opens.call(hashTag(points[0]?.key ?? ""), points);
      return reached === 0 ? null : (points[reached - 1] ?? null);
    } catch {
      // The limits of this process apply, and the next renewal sends the count.
      return null;
    }
  }

  /** @returns per request 0, or the number of the counter that has reached its limit */
  async #openAll(
    evaluate: Evaluate,
    requests: readonly (readonly OpenPoint[])[],
  ): Promise<readonly number[]> {
    const keys = requests.flatMap((points) => points.map(({ key }) => key));
    const limits = requests.flatMap((points) => [points.length, ...points.map(({ most }) => most ?? -1)]);
    const args = [this.#gateway, String(this.#leaseMs), ...limits.map(String)];
    return ((await evaluate(OPEN, keys, args)) as readonly number[]).map(Number);
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
    const tag = hashTag(key);
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
