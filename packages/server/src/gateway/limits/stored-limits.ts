/**
 * `StoredLimits` caches the limits of each tenant and user for a few seconds.
 * Invariant: a change takes effect within `MAX_AGE_MS` in every gateway, and at once if the signal arrives. While the
 * store can't be read, the last known limits apply, or those of the code. The cache is bounded.
 */
import { LIMITS_CHANNEL } from "../../session/limits.ts";
import type { Signals } from "../../signals/signals.ts";
import type { StoredLimit } from "../../store/caller-limits.ts";
import { MAX_BATCH } from "../../store/rules/arguments.ts";
import type { Actor } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { type CallerLimitOptions, type CallerLimitSet, resolveLimits } from "./resolve-limits.ts";

const MAX_AGE_MS = 5_000;
const MAX_TENANTS = 1_000;
const MAX_USERS = 10_000;

interface TenantEntry {
  readonly at: number;
  readonly stored: Promise<readonly StoredLimit[]>;
  /** The limits of users, computed from `stored`. */
  readonly byUser: Map<string, Promise<CallerLimitSet>>;
}

export class StoredLimits {
  readonly #store: Store;
  readonly #options: CallerLimitOptions;
  readonly #now: () => number;
  readonly #tenants = new Map<string, TenantEntry>();
  readonly #stopListening: () => void;

  constructor(
    { store, signals }: { readonly store: Store; readonly signals: Signals },
    options: CallerLimitOptions,
    now: () => number,
  ) {
    this.#store = store;
    this.#options = options;
    this.#now = now;
    this.#stopListening = signals.listen(LIMITS_CHANNEL, (tenant) => this.forget(tenant));
  }

  get(actor: Actor): Promise<CallerLimitSet> {
    const entry = this.#entry(actor.tenant);
    const known = entry.byUser.get(actor.user);
    if (known !== undefined) return known;
    const limits = this.#resolve(entry, actor);
    if (entry.byUser.size >= MAX_USERS) entry.byUser.clear();
    entry.byUser.set(actor.user, limits);
    return limits;
  }

  /** Reads the limits of the tenant again with the next request. */
  forget(tenant: string): void {
    this.#tenants.delete(tenant);
  }

  close(): void {
    this.#stopListening();
  }

  async #resolve(entry: TenantEntry, { tenant, user }: Actor): Promise<CallerLimitSet> {
    const stored = await entry.stored;
    // A tenant with more limits than one query returns.
    const own =
      stored.length < MAX_BATCH ? stored : await this.#read(() => this.#store.limits.find({ tenant, user }));
    return resolveLimits(this.#options, own ?? stored, user);
  }

  #entry(tenant: string): TenantEntry {
    const before = this.#tenants.get(tenant);
    const now = this.#now();
    if (before !== undefined && now - before.at < MAX_AGE_MS) return before;
    const stored = this.#read(() => this.#store.limits.list(tenant)).then(
      async (found) => found ?? (await before?.stored) ?? [],
    );
    const entry: TenantEntry = { at: now, stored, byUser: new Map() };
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, entry);
    const [oldest] = this.#tenants.keys();
    if (this.#tenants.size > MAX_TENANTS && oldest !== undefined) this.#tenants.delete(oldest);
    return entry;
  }

  /** Returns null if the store can't be read. The request itself then reports the error, if it needs the store. */
  async #read(read: () => Promise<readonly StoredLimit[]>): Promise<readonly StoredLimit[] | null> {
    try {
      return await read();
    } catch {
      return null;
    }
  }
}
