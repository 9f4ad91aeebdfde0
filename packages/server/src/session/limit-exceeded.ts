/**
 * `LimitExceededError` reports that a user or tenant has reached a limit. `requireTurnLimits` and `requireByteLimits` throw it in
 * the transaction that adds something.
 *
 * Invariant: they run last in that transaction, so that the locks of the counts are short. The error undoes all of it.
 */
import type { Actor } from "../util/refs.ts";
import type { ExceededLimit, TurnLimits } from "../store/rules/limits.ts";
import type { Store } from "../store/store.ts";

export class LimitExceededError extends Error {
  readonly exceeded: ExceededLimit;

  constructor(exceeded: ExceededLimit) {
    super(`The limit ${exceeded.limit} of the ${exceeded.scope} is reached.`);
    this.name = "LimitExceededError";
    this.exceeded = exceeded;
  }
}

/** The limits of the user who owns a session, and of the tenant. */
export interface OwnerLimits {
  readonly owner: Actor;
  readonly user: TurnLimits & { readonly storedBytes: number | null };
  readonly tenant: TurnLimits & { readonly storedBytes: number | null };
}

/** For a transaction that has added a message or a turn. @throws LimitExceededError */
export async function requireTurnLimits(tx: Store, { owner, user, tenant }: OwnerLimits): Promise<void> {
  throwIfExceeded(await tx.limits.findExceeded(owner, { user, tenant }));
}

/** For a transaction that has added a chunk of a file. @throws LimitExceededError */
export async function requireByteLimits(tx: Store, { owner, user, tenant }: OwnerLimits): Promise<void> {
  const limits = { user: user.storedBytes, tenant: tenant.storedBytes };
  throwIfExceeded(await tx.limits.findExceededBytes(owner, limits));
}

function throwIfExceeded(exceeded: ExceededLimit | null): void {
  if (exceeded !== null) throw new LimitExceededError(exceeded);
}
