/**
 * `CallerLimiter` refuses callers that exceed their limits: by user, API key and tenant after sign-in, otherwise by
 * address.
 * Invariant: every refusal is a `LimitExceededError`. A request costs at most one round trip to Redis. While Redis is
 * away, the limits apply in this process, and requests are served. The first refusal of a client in a minute is a
 * security event.
 */
import { LimitExceededError, type OwnerLimits } from "../../session/limit-exceeded.ts";
import type { Log } from "../../log/log.ts";
import type { Signals } from "../../signals/signals.ts";
import { type ExceededLimit, type LimitName, toWireName } from "../../store/rules/limits.ts";
import type { Store } from "../../store/store.ts";
import type { Env } from "../../util/env.ts";
import type { ReportSecurityEvent } from "../../util/security-event.ts";
import type { Caller } from "../caller.ts";
import { SignInError } from "../errors.ts";
import { addressKey, type CallerKeys, callerKeys, counterKey, groupAddress } from "./limit-keys.ts";
import { OpenCounter, type OpenPoint } from "./open-counter.ts";
import { RateCounter, type RatePoint } from "./rate-counter.ts";
import {
  type CallerLimitOptions,
  type CallerLimitSet,
  type EffectiveLimits,
  resolveScope,
} from "./resolve-limits.ts";
import { StoredLimits } from "./stored-limits.ts";
import { defined } from "../../util/defined.ts";

export interface CallerLimiterOptions {
  readonly store: Store;
  readonly log: Log;
  readonly signals: Signals;
  readonly env: Env;
  readonly callerLimits: CallerLimitOptions;
  readonly reportSecurityEvent: ReportSecurityEvent;
}

/** What a connection opens. `subscriptions` are those of sockets. */
type OpenKind = "sockets" | "streams" | "subscriptions";

export interface RequestKind {
  readonly opens?: OpenKind | null;
  /** True for what ends work or decides something. It has counters of its own, so that it is possible at the limit. */
  readonly isUrgent?: boolean;
}

/** Counts the opened thing as closed. Calling it again does nothing. */
export type Release = () => void;

/** All clients without a known address share one counter. It allows this many times the requests of one address. */
const SHARED_FACTOR = 10;
const EVENT_WINDOW_MS = 60_000;
const MAX_REPORTED = 10_000;

export class CallerLimiter {
  readonly #rates: RateCounter;
  readonly #open = new OpenCounter();
  readonly #stored: StoredLimits;
  readonly #address: EffectiveLimits<"address">;
  /** Counts all sockets and event streams of this process. */
  readonly #connectionPoint: OpenPoint;
  readonly #report: ReportSecurityEvent;
  readonly #now: () => number;
  readonly #reportedUntil = new Map<string, number>();

  constructor(options: CallerLimiterOptions) {
    const { env, callerLimits } = options;
    const now = () => env.now();
    this.#rates = new RateCounter(options.log, now);
    this.#stored = new StoredLimits(options, callerLimits, now);
    this.#address = resolveScope("address", [callerLimits.address ?? {}]);
    const { connections: most } = resolveScope("gateway", [callerLimits.gateway ?? {}]);
    this.#connectionPoint = { limit: "connections", scope: "gateway", key: "gateway", most };
    this.#report = options.reportSecurityEvent;
    this.#now = now;
  }

  /** Counts a request without a caller. @throws LimitExceededError */
  async countAnonymous(from: string): Promise<void> {
    await this.#consume(this.#addressPoints(from, "requestsPerMinute"), { from });
  }

  /**
   * Runs a sign-in. If it fails, reports a refused credential, and counts it for the address. With `isGuessable`, an
   * address that has exceeded a limit is refused first. A token or ticket is verified in any case: that costs no query,
   * and an attacker behind the same address must not lock out its other users.
   * @throws LimitExceededError, or the error of the sign-in
   */
  async guardSignIn<Result>(
    { from, isGuessable }: { readonly from: string; readonly isGuessable: boolean },
    signIn: () => Promise<Result>,
  ): Promise<Result> {
    const points = [
      ...this.#addressPoints(from, "failedSignInsPerMinute"),
      ...this.#addressPoints(from, "requestsPerMinute"),
    ];
    const blocked = isGuessable ? this.#rates.findBlocked(points) : null;
    if (blocked !== null) throw new LimitExceededError(blocked);
    try {
      return await signIn();
    } catch (error) {
      if (error instanceof SignInError) this.#report(error.event, from);
      const counted = isGuess(error) ? points : points.filter(({ limit }) => limit === "requestsPerMinute");
      await this.#consume(counted, { from });
      throw error;
    }
  }

  /**
   * Counts a request or a command. With `opens`, also a connection or subscription of this process.
   * @returns the function that counts it as closed; it does nothing without `opens`
   * @throws LimitExceededError
   */
  async countRequest(caller: Caller, { opens = null, isUrgent = false }: RequestKind = {}): Promise<Release> {
    const limits = await this.#stored.get(caller);
    const keys = callerKeys(caller);
    await this.#consume(requestPoints(keys, limits, isUrgent), caller);
    if (opens === null) return () => undefined;
    const points = openPoints(keys, limits, opens);
    const opened = this.#open.open(opens === "subscriptions" ? points : [this.#connectionPoint, ...points]);
    if (typeof opened !== "function") throw this.#refuse(opened, caller);
    return opened;
  }

  /** Returns the limits that the store compares in the transaction that adds something. */
  async ownerLimits(caller: Pick<Caller, "tenant" | "user" | "key">): Promise<OwnerLimits> {
    const { tenant, user, key: apiKey } = caller;
    return { owner: { tenant, user, apiKey }, ...(await this.#stored.get(caller)) };
  }

  /** Returns all limits that apply to a user. */
  limitsOf(caller: Pick<Caller, "tenant" | "user">): Promise<CallerLimitSet> {
    return this.#stored.get(caller);
  }

  /** Applies a change of the tenant's limits at once in this process. */
  forget(tenant: string): void {
    this.#stored.forget(tenant);
  }

  close(): void {
    this.#stored.close();
  }

  #addressPoints(from: string, limit: "requestsPerMinute" | "failedSignInsPerMinute"): RatePoint[] {
    const points = this.#address[limit];
    if (points === null) return [];
    const group = groupAddress(from);
    const key = counterKey(addressKey(group), limit, "address", "all");
    return [{ limit, scope: "address", key, points: group === "" ? points * SHARED_FACTOR : points }];
  }

  async #consume(points: readonly RatePoint[], source: Partial<Caller>): Promise<void> {
    const exceeded = await this.#rates.consume(points, (found) => this.#reportFlood(found, source));
    if (exceeded !== null) throw new LimitExceededError(exceeded);
  }

  #refuse(exceeded: ExceededLimit, caller: Caller): LimitExceededError {
    const { limit, scope } = exceeded;
    const key = JSON.stringify([limit, scope, caller.tenant, scope === "tenant" ? "" : caller.user]);
    const now = this.#now();
    if ((this.#reportedUntil.get(key) ?? 0) <= now) {
      if (this.#reportedUntil.size >= MAX_REPORTED) this.#reportedUntil.clear();
      this.#reportedUntil.set(key, now + EVENT_WINDOW_MS);
      this.#reportFlood(exceeded, caller);
    }
    return new LimitExceededError(exceeded);
  }

  #reportFlood({ limit, scope }: ExceededLimit, { tenant, user, key, from = "" }: Partial<Caller>): void {
    const source = defined({ tenant, user, key: key ?? undefined });
    this.#report({ type: "rate_limited", reason: toWireName(limit), subject: scope, ...source }, from);
  }
}

/** Many clients behind one address may have credentials that have just expired. That is not a guess. */
const EXPIRED: readonly string[] = ["token_expired", "ticket_expired", "ticket_used", "key_ended"];

function isGuess(error: unknown): boolean {
  return error instanceof SignInError && !EXPIRED.includes(error.event.reason);
}

function requestPoints({ tag, ids }: CallerKeys, limits: CallerLimitSet, isUrgent: boolean): RatePoint[] {
  const limit = "requestsPerMinute" satisfies LimitName;
  return ids.flatMap(({ scope, id }) => {
    const points = limits[scope][limit];
    const key = counterKey(tag, limit, scope, isUrgent ? `${id}:urgent` : id);
    return points === null ? [] : [{ limit, scope, key, points }];
  });
}

function openPoints({ tag, ids }: CallerKeys, limits: CallerLimitSet, limit: OpenKind): OpenPoint[] {
  return ids.map(({ scope, id }) => ({
    limit,
    scope,
    key: counterKey(tag, limit, scope, id),
    most: limits[scope][limit],
  }));
}
