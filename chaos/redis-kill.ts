/**
 * `redisKill` kills Redis under load and restarts it on the same port. In half of the rounds Redis's answers are
 * blocked right before the kill, so that appends succeed without their writers knowing.
 *
 * Invariant: every acknowledged event is at its acknowledged position.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog } from "@turnstream/server";
import { createMemoryStore } from "@turnstream/server/testing";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { hasExactly, Load } from "./load.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const SESSIONS = 20;

interface Found {
  lost: number;
  /** Logs that lost even entries that had been compared before. */
  setBack: number;
  gaps: number;
  duplicates: number;
  torn: number;
  strangers: number;
  wrongReaders: number;
  reported: number;
}

export const redisKill: Scenario = {
  promise: 1,
  about: "kills Redis with -9 under load",
  times: 200,
  run,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  // Redis rewrites its file often, so that the file stays small and kills also hit a rewrite.
  const redis = await startRedis({
    config: { "auto-aof-rewrite-min-size": "2mb" },
  });
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  const url = `redis://127.0.0.1:${proxy.port}`;
  const [owners, gateways, readers] = await Promise.all([
    createRedisLog({ url }),
    createRedisLog({ url }),
    createRedisLog({ url: redis.url }),
  ]);
  const load = await Load.make(
    { store: createMemoryStore(), owners, gateways, readers: [readers, gateways], random },
    SESSIONS,
  );
  const found: Found = {
    lost: 0,
    setBack: 0,
    gaps: 0,
    duplicates: 0,
    torn: 0,
    strangers: 0,
    wrongReaders: 0,
    reported: 0,
  };
  let entries = 0;
  try {
    for (let n = 1; n <= times; n++) {
      load.start();
      await sleep(30 + random() * 150);
      if (random() < 0.25) await untilSyncing(redis);
      if (random() < 0.5) {
        proxy.blackhole("toClient");
        await sleep(random() * 15);
      }
      await redis.kill();
      await proxy.heal();
      await sleep(random() * 30);
      await redis.restart();
      await load.recovered();
      await load.settle();
      entries += await check(load, found);
      if (n % 10 === 0) progress(`${n} of ${times}: ${entries} entries, ${JSON.stringify(found)}`);
    }
  } finally {
    await load.end();
    await proxy.close();
    await redis.stop();
  }
  const { acknowledged, ambiguous, repeated, unclaimed } = load.tally;
  return [
    { figure: "acknowledged events lost", value: found.lost, exactly: 0 },
    { figure: "logs set back to before the last comparison", value: found.setBack, exactly: 0 },
    { figure: "gaps in the sequence", value: found.gaps, exactly: 0 },
    { figure: "duplicate events", value: found.duplicates, exactly: 0 },
    { figure: "incomplete batches", value: found.torn, exactly: 0 },
    { figure: "events that were refused and are in the log", value: found.strangers, exactly: 0 },
    { figure: "readers that differ from the log", value: found.wrongReaders, exactly: 0 },
    { figure: "readers that had to resync", value: found.reported },
    { figure: "acknowledged events", value: acknowledged, atLeast: times * SESSIONS },
    { figure: "events compared", value: entries, atLeast: times * SESSIONS },
    { figure: "appends cut off in flight", value: ambiguous, atLeast: times },
    { figure: "of those that had succeeded", value: repeated, atLeast: 1 },
    { figure: "refusals until a new claim", value: unclaimed, atLeast: times },
  ];
}

/** Waits for a moment in which Redis has writes that are not synced to its file, or until the timeout. */
async function untilSyncing(redis: RedisServer): Promise<void> {
  const deadline = performance.now() + 1_200;
  while (performance.now() < deadline) {
    if (/aof_pending_bio_fsync:[1-9]/.test(String(await redis.command("INFO", "persistence")))) return;
  }
}

async function check(load: Load, found: Found): Promise<number> {
  let compared = 0;
  for (const crowd of load.crowds) {
    const entries = await load.read(crowd);
    if (entries === null) {
      found.setBack++;
      found.lost += crowd.ledger.acks.length;
      await load.retire(crowd);
      await load.add();
      continue;
    }
    const { lost, lostTexts, gaps, duplicates, torn, strangers } = crowd.ledger.compare(entries);
    found.lost += lost.length + lostTexts;
    found.gaps += gaps;
    found.duplicates += duplicates;
    found.torn += torn;
    found.strangers += strangers;
    const exact = await Promise.all(crowd.watchers.map((watcher) => hasExactly(watcher, entries)));
    found.wrongReaders += exact.filter((isExact) => !isExact).length;
    for (const watcher of crowd.watchers) found.reported += watcher.ends.length;
    await load.accept(crowd, entries);
    compared += entries.length;
  }
  return compared;
}
