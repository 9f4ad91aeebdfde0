/**
 * Erasing sessions everywhere. The store goes first, with a note that the log has still to go; the note stays for
 * a while, because a claim under way may make the log once more. Whoever dies in between, the note is found.
 */
import { isLogError } from "../../log/errors.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Erasure } from "../../store/ports/sessions.ts";
import type { Backend } from "../backend.ts";

/** Longer than any claim takes that began before the session was gone. */
const GRACE_MS = 60_000;
const BATCH = 100;

/** @returns false when there was no such session */
export async function eraseSession({ store, log }: Backend, ref: SessionRef): Promise<boolean> {
  const wasThere = await store.sessions.remove(ref);
  if (wasThere) await log.remove(ref.session);
  return wasThere;
}

/** All sessions of one person, and their name in the audit. @returns how many sessions */
export async function eraseUser({ store, log }: Backend, tenant: string, user: string): Promise<number> {
  const sessions = await store.transaction(async (tx) => {
    const removed = await tx.sessions.removeUser(tenant, user);
    await tx.userNumbers.forget(tenant, user);
    return removed;
  });
  for (const session of sessions) await log.remove(session);
  return sessions.length;
}

/** Erases sessions that nobody has used for that long. @returns how many, at most a batch */
export async function eraseExpired({ store, log }: Backend, olderThanMs: number): Promise<number> {
  const sessions = await store.sessions.removeExpired({ olderThanMs, limit: BATCH });
  for (const session of sessions) await log.remove(session);
  return sessions.length;
}

export interface FinishOptions {
  readonly graceMs?: number;
  /** Forgets what others know of the session, such as the engine; done again while the note stays. */
  readonly forget?: (session: string) => Promise<unknown>;
}

/**
 * Removes the logs of erased sessions again, and forgets the notes that are old enough, by the store's clock. One
 * that can't be removed now keeps its note and doesn't stop the others. @returns how many logs were removed
 */
export async function finishErasures({ store, log }: Backend, options: FinishOptions = {}): Promise<number> {
  const { graceMs = GRACE_MS, forget } = options;
  let removed = 0;
  let last: Erasure | undefined;
  while (true) {
    const erasures = await store.sessions.pendingErasures(BATCH, last);
    for (const { session } of erasures) {
      try {
        await log.remove(session);
        await forget?.(session);
      } catch (error) {
        if (!isLogError(error)) throw error;
        continue;
      }
      removed++;
      await store.sessions.erased(session, { olderThanMs: graceMs });
    }
    last = erasures.at(-1);
    if (last === undefined) return removed;
  }
}
