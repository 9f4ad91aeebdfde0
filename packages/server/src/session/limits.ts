/**
 * `setLimits` replaces the stored limits of a tenant or a user, and notifies the gateways through `LIMITS_CHANNEL`.
 *
 * Invariant: the limits and their audit entry are one commit. The entry names users by their number. Gateways read the
 * store, so a lost signal only delays the change by some seconds.
 */
import type { Signals } from "../signals/signals.ts";
import {
  type LimitName,
  type LimitSource,
  type LimitTarget,
  type LimitValues,
  toWireName,
} from "../store/rules/limits.ts";
import type { Store } from "../store/store.ts";

/** A signal on this channel names the tenant whose limits have changed. */
export const LIMITS_CHANNEL = "limits";

export interface LimitChange {
  readonly target: LimitTarget;
  readonly source: LimitSource;
  /** All limits of the target that the source sets. Others return to their default. */
  readonly values: LimitValues;
  /** The user who changes them, or null for an operator. */
  readonly by: string | null;
}

/** @throws StoreError NOT_FOUND without the tenant, INVALID for an unknown limit or value */
export async function setLimits(
  { store, signals }: { readonly store: Store; readonly signals?: Signals },
  tenant: string,
  { target, source, values, by }: LimitChange,
): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.limits.replace(tenant, target, source, values);
    const user = target.scope === "user" ? target.user : null;
    const subject = {
      scope: target.scope,
      ...(user === null ? {} : { user: String(await tx.userNumbers.numberOf(tenant, user)) }),
    };
    const detail = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [toWireName(name as LimitName), value ?? null]),
    );
    await tx.audit.add(tenant, { actor: by, action: "limits.set", subject, detail });
  });
  signals?.send(LIMITS_CHANNEL, tenant);
}
