/**
 * This program commits writes in several sessions at once and appends each to the log right after its commit. It
 * reports every commit to its parent, and sometimes waits before the append so that the parent can kill it there. Does
 * not relay outbox rows.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { publishCommitted } from "@turnstream/server/internal";
import { isLogError } from "@turnstream/server/ports";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { seededRandom, type Random } from "@turnstream/testkit/util/seeded-random.ts";
import { type DurableWrite, decision, paymentSteps, toolStart } from "../durable-writes.ts";

export interface CommitterSettings {
  readonly name: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

export interface CommitRequest {
  readonly refs: readonly SessionRef[];
  readonly seed: number;
  /** Waits before the append after this many commits over all sessions, until it is killed. Null for never. */
  readonly pauseAt: number | null;
}

export type CommitterMessage = { readonly ready: true } | { readonly committed: string };

/** Longer than a relay leaves a row to its writer, so that sometimes both publish it. */
const LONGEST_WAIT_MS = 60;
const PAUSE_MS = 60_000;
let commits = 0;
let pauseAt: number | null = null;

const parent = connectParent<CommitRequest, CommitterMessage>();
const backend = await openBackend({ ...(readSettings() as CommitterSettings), database: { max: 4 } });
// Open the connections and load the code now, so that this time is not part of the measurement.
await backend.store.leases.expired(1);
await backend.log.head({ tenant: "warm-up", session: "warm-up" });

parent.onMessage((request) => {
  pauseAt = request.pauseAt;
  const random = seededRandom(request.seed);
  for (const ref of request.refs) void work(ref, random);
});
parent.send({ ready: true });

async function work(ref: SessionRef, random: Random): Promise<void> {
  for (let n = 0; ; n++) for (const write of planWrites(ref, n)) await commitAndPublish(write, random);
}

function planWrites(ref: SessionRef, n: number): readonly DurableWrite[] {
  const key = `${ref.session}.${n}`;
  if (n % 3 === 0) return [toolStart(ref, key)];
  return n % 3 === 1 ? [decision(ref, key, "someone")] : paymentSteps(ref, key);
}

async function commitAndPublish(write: DurableWrite, random: Random): Promise<void> {
  const { ref, key } = write;
  const since = await readLast(ref);
  await write.commit(backend.store, since);
  const isPaused = ++commits === pauseAt;
  parent.send({ committed: key });
  if (isPaused) await sleep(PAUSE_MS);
  if (random() < 0.8) await sleep(random() * random() * LONGEST_WAIT_MS);
  await publishCommitted(backend, ref);
}

async function readLast(ref: SessionRef): Promise<string> {
  while (true) {
    try {
      return (await backend.log.head(ref))?.last ?? "0-0";
    } catch (error) {
      if (!isLogError(error, "UNAVAILABLE")) throw error;
      await sleep(10);
    }
  }
}
