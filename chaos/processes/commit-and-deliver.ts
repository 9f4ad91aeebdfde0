/**
 * A program of its own, to be killed: commits deeds in several sessions at once and brings each to the log right
 * after its commit. It tells its parent of every commit, and now and then waits before the append. Never relays.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  createRedisLog,
  publishCommitted,
  isLogError,
  openDatabase,
  type Backend,
  createPostgresStore,
  type SessionRef,
} from "@turnstream/server";
import { type Deed, decision, paymentSteps, toolStart } from "../durable-writes.ts";
import { seeded } from "../scenario.ts";

export interface Order {
  readonly refs: readonly SessionRef[];
  readonly seed: number;
  /** After which commit, of all sessions, to wait for the end before the append; null for none. */
  readonly holdAt: number | null;
}

export type Word = { readonly ready: true } | { readonly committed: string };

const [name = "", postgresUrl = "", redisUrl = ""] = process.argv.slice(2);
/** Longer than a relay leaves a row to its writer, so that now and then both bring it. */
const LONGEST_WAIT_MS = 60;
const HOLD_MS = 60_000;
let commits = 0;
let holdAt: number | null = null;

const parts: Backend = {
  store: createPostgresStore(openDatabase({ url: postgresUrl, max: 4, name })),
  log: await createRedisLog({ url: redisUrl }),
};
// The first connections and the first reading of code take a while: not in the time that is measured.
await parts.store.leases.expired(1);
await parts.log.head("nobody");

process.on("disconnect", () => process.exit());
process.on("message", (order: Order) => {
  holdAt = order.holdAt;
  const random = seeded(order.seed);
  for (const ref of order.refs) void work(ref, random);
});
tell({ ready: true });

function tell(word: Word): void {
  process.send?.(word);
}

async function work(ref: SessionRef, random: () => number): Promise<void> {
  for (let n = 0; ; n++) for (const deed of deedsOf(ref, n)) await commitAndDeliver(deed, random);
}

function deedsOf(ref: SessionRef, n: number): readonly Deed[] {
  const key = `${ref.session}.${n}`;
  if (n % 3 === 0) return [toolStart(ref, key)];
  return n % 3 === 1 ? [decision(ref, key, "someone")] : paymentSteps(ref, key);
}

async function commitAndDeliver(deed: Deed, random: () => number): Promise<void> {
  const { ref, key } = deed;
  const since = await lastOf(ref.session);
  await deed.commit(parts.store, since);
  const isHeld = ++commits === holdAt;
  tell({ committed: key });
  if (isHeld) await sleep(HOLD_MS);
  if (random() < 0.8) await sleep(random() * random() * LONGEST_WAIT_MS);
  await publishCommitted(parts, ref);
}

async function lastOf(session: string): Promise<string> {
  while (true) {
    try {
      return (await parts.log.head(session))?.last ?? "0-0";
    } catch (error) {
      if (!isLogError(error, "UNAVAILABLE")) throw error;
      await sleep(10);
    }
  }
}
