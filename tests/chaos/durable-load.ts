/**
 * `commitAndPublish` is a client that commits one durable write after the other and appends the events of each to the
 * log. It continues while servers fail.
 *
 * Invariant: a write that failed is not repeated. Otherwise a lost write would be restored unnoticed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, SessionRef } from "@turnstream/server";
import { isLogError, isStoreError, publishCommitted } from "@turnstream/server/internal";
import type { Random } from "@turnstream/testkit/util/seeded-random.ts";
import { createWrite, type DurableWrite, listKeys } from "./durable-writes.ts";

/** Longer than a relay leaves a row to its writer, so that sometimes both publish it. */
const LONGEST_WAIT_MS = 60;
const AGAIN_MS = 20;

export interface ClientOptions {
  /** Distinguishes the client from others of the session. */
  readonly name: string;
  readonly random: Random;
  readonly isOver: () => boolean;
  /** Called after the commit and before the append. */
  readonly onCommit: (write: DurableWrite) => Promise<void> | void;
  /** @param startedAt by `performance.now()` */
  readonly onFailure: (write: DurableWrite, startedAt: number) => void;
}

export async function commitAndPublish(
  backend: Backend,
  ref: SessionRef,
  options: ClientOptions,
): Promise<void> {
  const { name, random, isOver, onCommit, onFailure } = options;
  const commit = async (write: DurableWrite): Promise<boolean> => {
    const since = (await tolerateOutages(() => backend.log.head(ref)))?.last ?? "0-0";
    const startedAt = performance.now();
    try {
      await write.commit(backend.store, since);
    } catch (error) {
      if (!isStoreError(error, "UNAVAILABLE")) throw error;
      onFailure(write, startedAt);
      await sleep(AGAIN_MS);
      return false;
    }
    await onCommit(write);
    if (random() < 0.8) await sleep(random() * random() * LONGEST_WAIT_MS);
    // Some rows are left to the next append or to a relay.
    if (random() < 0.8) await tolerateOutages(() => publishCommitted(backend, ref));
    return true;
  };
  for (let n = 0; !isOver(); n++)
    for (const key of listKeys(ref, name, n)) if (!(await commit(createWrite(ref, key)))) break;
}

/** Ignores a server that is down, and a conflict between two writers. Both are documented errors. */
export async function tolerateOutages<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    const isOutage = isLogError(error, "UNAVAILABLE") || isStoreError(error, "UNAVAILABLE");
    if (!isOutage && !isStoreError(error, "BUSY")) throw error;
    return null;
  }
}
