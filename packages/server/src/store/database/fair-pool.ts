/**
 * `takeTurns` puts a `FairSemaphore` in front of a pool of connections, so that a tenant with many statements does not
 * delay the statements of another tenant. The owner of the running work decides whose turn it is.
 * Invariant: the semaphore is as wide as the pool, so callers never wait in the pool's own queue, which is first come,
 * first served. A caller waits for a connection at most `maxWaitMs`, as in that queue.
 */
import type { PostgresPool, PostgresPoolClient } from "kysely";
import type { Owner } from "../../util/fair-queue.ts";
import { FairSemaphore, type Slot } from "../../util/fair-semaphore.ts";
import { currentOwner } from "../../util/work-owner.ts";

/**
 * Which part of the connections one tenant may use while there are others. It is small, because PostgreSQL divides its
 * processors by connections: a tenant on seven of ten connections makes every statement of another one eight times as
 * slow. A process needs few connections at once, so the tenant loses no throughput.
 */
const TENANT_PART = 0.25;

/** With one alone, a statement would wait for the longest transaction of its tenant. */
const MIN_CONNECTIONS = 2;

/** @param maxWaitMs 0 for no limit */
export function takeTurns(pool: PostgresPool, width: number, maxWaitMs: number): PostgresPool {
  const slots = new FairSemaphore(width, { part: Math.max(TENANT_PART, MIN_CONNECTIONS / width) });
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      const slot = await waitForSlot(slots, currentOwner(), maxWaitMs);
      try {
        return releaseWith(await pool.connect(), slot);
      } catch (error) {
        slot.release();
        throw error;
      }
    },
  };
}

async function waitForSlot(slots: FairSemaphore, owner: Owner, maxWaitMs: number): Promise<Slot> {
  const free = slots.tryAcquire(owner);
  if (free !== null) return free;
  const waiting = new AbortController();
  const timeout = (): void => waiting.abort(new Error("timeout exceeded when waiting for a connection"));
  const timer = maxWaitMs === 0 ? undefined : setTimeout(timeout, maxWaitMs);
  try {
    return await slots.acquire(owner, waiting.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** The pool sets a new `release` each time it hands out a connection. */
function releaseWith(client: PostgresPoolClient, slot: Slot): PostgresPoolClient {
  const release = client.release.bind(client);
  client.release = (destroy?: boolean): void => {
    release(destroy);
    slot.release();
  };
  return client;
}
