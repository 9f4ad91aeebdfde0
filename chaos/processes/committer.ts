/**
 * This program commits and publishes durable writes in several sessions at once. It reports every commit to its parent,
 * and waits before one of the appends, so that the parent can kill it there.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { HistoryFolder, recordLog } from "@turnstream/testkit/history/record-history.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { commitAndPublish } from "../durable-load.ts";

export interface CommitterSettings {
  readonly name: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The path of a `HistoryFolder`. */
  readonly history: string;
}

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
const { store, log } = await openBackend({ ...settings, database: { max: 4 } });
// Open the connections and load the code now, so that this time is not part of the measurement.
await store.leases.expired(1);
await log.head({ tenant: "warm-up", session: "warm-up" });

parent.onMessage(({ refs, seed, pauseAt }) => {
  const backend = {
    store,
    log: recordLog(log, settings.name, new HistoryFolder(settings.history).open(settings.name)),
  };
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
