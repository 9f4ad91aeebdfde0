/**
 * `CallerLimits` is the sub-port of limits on what tenants, API keys and users may use: the stored values, and the
 * counts that are compared with them. Types only.
 *
 * Invariant: `findExceeded` and `findExceededBytes` count what the transaction has added. Until it ends, no other
 * transaction passes them for the same user or, near the limit, for the same key or tenant. So no limit is exceeded.
 * Tokens and cost are those of ended turns, and those that running turns have journaled.
 */
import type { Actor } from "../../util/refs.ts";
import type {
  ByUseScope,
  ExceededLimit,
  LimitName,
  LimitTarget,
  LimitValues,
  TurnLimits,
  UsageLimits,
  UseOwner,
} from "../rules/limits.ts";

/**
 * Who set a limit: `operator` with the CLI or code that has the store, `admin` with an API key of the tenant. At the
 * same level the lower one applies, so that a tenant can't raise its own limits.
 */
export const LIMIT_SOURCES = ["operator", "admin"] as const;
export type LimitSource = (typeof LIMIT_SOURCES)[number];

export interface StoredLimit {
  readonly target: LimitTarget;
  readonly source: LimitSource;
  readonly name: LimitName;
  /** Null for no limit. */
  readonly value: number | null;
}

export interface CallerLimits {
  /** Returns the limits of the tenant, of each user, and of this user. */
  find(actor: Actor): Promise<StoredLimit[]>;
  /** Returns the limits that are set in a tenant, at most 1,000: the tenant's first, then by user and name. */
  list(tenant: string): Promise<StoredLimit[]>;
  /**
   * Replaces all limits that this source has set for the target.
   * @throws StoreError with NOT_FOUND if the tenant does not exist, with INVALID for an unknown limit or value.
   */
  replace(tenant: string, target: LimitTarget, source: LimitSource, values: LimitValues): Promise<void>;
  /**
   * Compares the queued messages, the turns and the usage of a user, their API key and their tenant with the limits.
   * For a transaction that has added a message or a turn; it must be the last call before the end.
   */
  findExceeded(owner: UseOwner, limits: ByUseScope<TurnLimits>): Promise<ExceededLimit | null>;
  /** Compares the usage alone, without a lock. For a turn that is about to call a model. */
  findExceededUsage(owner: UseOwner, limits: ByUseScope<UsageLimits>): Promise<ExceededLimit | null>;
  /** Compares the bytes of all uploads with the limits. For a transaction that has added a chunk. */
  findExceededBytes(owner: UseOwner, limits: ByUseScope<number | null>): Promise<ExceededLimit | null>;
}
