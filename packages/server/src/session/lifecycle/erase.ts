/**
 * `eraseSession`, `eraseUser` and `eraseExpired` delete sessions from the store, then from the log. `finishErasures`
 * also deletes their files from the object storage.
 *
 * Invariant: the store keeps an erasure record after the delete, so that `finishErasures` deletes the log even if the
 * process dies. The record stays for a grace period, because a concurrent claim can create the log again: the log is
 * deleted at once and at the end of the period. One process claims each of them. The audit notes an erasure without the
 * user, and never keeps one from happening. An entry of `eraseExpired` names its reason.
 */
import { isLogError } from "../../log/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";

/** Longer than a network delivers the bytes of a claim that started before the session was erased. */
const GRACE_MS = 16 * 60_000;
const BATCH = 100;
/** Longer than one batch takes. A log that can't be deleted is tried again after it. */
const LEASE_MS = 30_000;
/** Objects that one request to the storage deletes. */
const SWEPT = 1_000;

/** @returns false if there was no such session */
export async function eraseSession({ store, log }: Backend, ref: SessionRef): Promise<boolean> {
  const wasThere = await store.transaction(async (tx) => {
    const isRemoved = await tx.sessions.remove(ref);
    // Without the id of the session, which is erased, and without the user, who is usually its owner.
    if (isRemoved) await tx.audit.add(ref.tenant, { actor: null, action: "session.erased", subject: {} });
    return isRemoved;
  });
  if (wasThere) await log.remove(ref);
  return wasThere;
}

/** Erases all sessions of a user, and the user's name in the audit log. @returns how many sessions */
export async function eraseUser({ store, log }: Backend, tenant: string, user: string): Promise<number> {
  const sessions = await store.transaction(async (tx) => {
    const removed = await tx.sessions.removeUser(tenant, user);
    await tx.userNumbers.forget(tenant, user);
    const detail = { sessions: removed.length };
    await tx.audit.add(tenant, { actor: null, action: "user.erased", subject: {}, detail });
    return removed;
  });
  for (const session of sessions) await log.remove({ tenant, session });
  return sessions.length;
}

/** Erases sessions that were not used for `olderThanMs`. @returns how many, at most one batch */
export async function eraseExpired({ store, log }: Backend, olderThanMs: number): Promise<number> {
  const sessions = await store.transaction(async (tx) => {
    const removed = await tx.sessions.removeExpired({ olderThanMs, limit: BATCH });
    // In one order, because each entry locks the end of a tenant's audit.
    for (const tenant of [...new Set(removed.map((ref) => ref.tenant))].toSorted()) {
      const count = removed.filter((ref) => ref.tenant === tenant).length;
      const detail = { reason: "retention", sessions: count };
      await tx.audit.add(tenant, { actor: null, action: "session.erased", subject: {}, detail });
    }
    return removed;
  });
  for (const ref of sessions) await log.remove(ref);
  return sessions.length;
}

export interface FinishOptions {
  readonly graceMs?: number;
}

/**
 * Deletes the logs of erased sessions again, and the erasure records that are older than `graceMs` by the store's
 * clock. A log that can't be deleted now keeps its record and doesn't block the others. Then deletes the objects that
 * no file uses any more.
 * @returns how many logs were deleted
 */
export async function finishErasures({ store, log }: Backend, options: FinishOptions = {}): Promise<number> {
  const { graceMs = GRACE_MS } = options;
  let removed = 0;
  while (true) {
    const erasures = await store.sessions.takeErasures({ limit: BATCH, leaseMs: LEASE_MS, graceMs });
    for (const ref of erasures) {
      try {
        await log.remove(ref);
      } catch (error) {
        if (!isLogError(error)) throw error;
        continue;
      }
      removed++;
      await store.sessions.erased(ref, { olderThanMs: graceMs });
    }
    if (erasures.length === 0) break;
  }
  while ((await store.objects.sweep({ limit: SWEPT })) === SWEPT);
  return removed;
}
