/**
 * `redisKill` kills Redis under load and restarts it on the same port. In half of the rounds Redis's answers are
 * blocked right before the kill, so that appends succeed without their writers knowing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog } from "@turnstream/server";
import { createMemoryStore } from "@turnstream/testing";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { HistoryTally } from "./history-tally.ts";
import { playRound } from "./log-load.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { TENANT } from "./session-load.ts";

const SESSIONS = 20;

export const redisKill: Scenario = {
  promise: 1,
  about: "kills Redis with -9 under load",
  times: 200,
  run,
};

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, random } = options;
  // Redis rewrites its file often, so that the file stays small and kills also hit a rewrite.
  const redis = await startRedis({ config: { "auto-aof-rewrite-min-size": "2mb" } });
  const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
  const url = `redis://127.0.0.1:${proxy.port}`;
  const [owners, joiners, direct] = await Promise.all([
    createRedisLog({ url }),
    createRedisLog({ url }),
    createRedisLog({ url: redis.url }),
  ]);
  const store = createMemoryStore();
  await store.tenants.create({ id: TENANT, name: "Chaos" });
  const setting = { store, owners, joiners, readers: [direct, joiners], random, sessions: SESSIONS };
  const tally = new HistoryTally(options);
  try {
    for (let n = 1; n <= times; n++) {
      const history = await playRound({ ...setting, name: `r${n}` }, async (load) => {
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
      });
      tally.add(history);
    }
  } finally {
    await Promise.all([owners, joiners, direct, store].map((part) => part.close()));
    await proxy.close();
    await redis.stop();
  }
  return [
    ...tally.figures(),
    { figure: "acknowledged appends", value: tally.sum("acknowledged"), atLeast: times * SESSIONS },
    { figure: "appends cut off in flight", value: tally.sum("retried"), atLeast: times },
    { figure: "of those that had succeeded", value: tally.sum("repeated"), atLeast: 1 },
  ];
}

/** Waits for a moment in which Redis has writes that are not synced to its file, or until the timeout. */
async function untilSyncing(redis: RedisServer): Promise<void> {
  const deadline = performance.now() + 1_200;
  while (performance.now() < deadline) {
    if (/aof_pending_bio_fsync:[1-9]/.test(String(await redis.command("INFO", "persistence")))) return;
  }
}
