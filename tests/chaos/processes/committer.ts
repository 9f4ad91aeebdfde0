/**
 * This program commits and publishes durable writes in several sessions at once. It reports every commit to its parent,
 * and waits before one of the appends, so that the parent can kill it there.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { type BackendOptions, openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { commitAndPublish } from "../durable-load.ts";

export type CommitterSettings = BackendOptions & { readonly name: string };

export interface CommitRequest {
  readonly refs: readonly SessionRef[];
  readonly seed: number;
  /** Waits before the append after this many commits over all sessions. Null for never. */
  readonly pauseAt: number | null;
}

export type CommitterMessage =
  | { readonly ready: true }
  | { readonly committed: string; readonly ref: SessionRef };

const PAUSE_MS = 60_000;

const settings = readSettings() as CommitterSettings;
const parent = connectParent<CommitRequest, CommitterMessage>();
const backend = await openBackend({ ...settings, database: { max: 4 } });
// Open the connections and load the code now, so that this time is not part of the measurement.
await backend.store.leases.expired(1);
await backend.log.head({ tenant: "warm-up", session: "warm-up" });

parent.onMessage(({ refs, seed, pauseAt }) => {
  let commits = 0;
  const options = {
    name: settings.name,
    random: seededRandom(seed),
    isOver: () => false,
    onCommit: async ({ ref, key }: { readonly ref: SessionRef; readonly key: string }) => {
      const isPaused = ++commits === pauseAt;
      parent.send({ committed: key, ref });
      if (isPaused) await sleep(PAUSE_MS);
    },
    onFailure: () => undefined,
  };
  for (const ref of refs) void commitAndPublish(backend, ref, options);
});
parent.send({ ready: true });
