/**
 * `LimitExceededError` reports that a user, an API key or a tenant has reached a limit. `requireTurnLimits` and
 * `requireByteLimits` throw it in the transaction that adds something. `toTurnCaller` passes limits on to the worker.
 *
 * Invariant: they run last in that transaction, so that the locks of the counts are short. The error undoes all of it.
 */
import type { TurnCaller } from "../store/running-turn.ts";
import {
  type ByUseScope,
  type ExceededLimit,
  hasUsageLimit,
  type TurnLimits,
  type UsageLimits,
  type UseOwner,
} from "../store/rules/limits.ts";
import type { Store } from "../store/store.ts";

export class LimitExceededError extends Error {
  readonly exceeded: ExceededLimit;

  constructor(exceeded: ExceededLimit) {
    super(`The limit ${exceeded.limit} of the ${exceeded.scope} is reached.`);
    this.name = "LimitExceededError";
    this.exceeded = exceeded;
  }
}

/** The limits of the user who owns a session, of the API key behind the request, and of the tenant. */
export interface OwnerLimits extends ByUseScope<TurnLimits & { readonly storedBytes: number | null }> {
  readonly owner: UseOwner;
}

/** Returns what the message or the retry of a turn stores about its request. */
export function toTurnCaller(limits: OwnerLimits | undefined): Partial<TurnCaller> {
  return limits === undefined ? {} : { apiKey: limits.owner.apiKey, usageLimits: toUsageLimits(limits) };
}

/** The limits of a turn's model calls, for the worker that runs it. Null if there are none. */
function toUsageLimits({ user, key, tenant }: ByUseScope<UsageLimits>): ByUseScope<UsageLimits> | null {
  if (![user, key, tenant].some(hasUsageLimit)) return null;
  return { user: pickUsageLimits(user), key: pickUsageLimits(key), tenant: pickUsageLimits(tenant) };
}

function pickUsageLimits({
  tokensPerDay,
  tokensPerMonth,
  costPerDay,
  costPerMonth,
}: UsageLimits): UsageLimits {
  return { tokensPerDay, tokensPerMonth, costPerDay, costPerMonth };
}

/** For a transaction that has added a message or a turn. @throws LimitExceededError */
export async function requireTurnLimits(tx: Store, { owner, ...limits }: OwnerLimits): Promise<void> {
  throwIfExceeded(await tx.limits.findExceeded(owner, limits));
}

/** For a transaction that has added a chunk of a file. @throws LimitExceededError */
export async function requireByteLimits(tx: Store, { owner, user, key, tenant }: OwnerLimits): Promise<void> {
  const limits = { user: user.storedBytes, key: key.storedBytes, tenant: tenant.storedBytes };
  throwIfExceeded(await tx.limits.findExceededBytes(owner, limits));
}

function throwIfExceeded(exceeded: ExceededLimit | null): void {
  if (exceeded !== null) throw new LimitExceededError(exceeded);
}
