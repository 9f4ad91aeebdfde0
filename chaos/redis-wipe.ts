/**
 * `redisWipe` wipes Redis in the middle of turns. Some readers use a process that has only just started.
 *
 * Invariant: every reader whose position was not archived is notified within a second, also where there are no writes.
 * History comes from PostgreSQL. The turns are taken over and end well, and every reader ends with exactly the archive.
 */
import { createRedisLog, migrate, openDatabase, createPostgresStore } from "@turnstream/server";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { RUNNING, REPORT_MS, TENANT, type WipeFound, WipeRound } from "./wipe-round.ts";

export const redisWipe: Scenario = {
  promise: 6,
  about: "runs FLUSHALL in the middle of turns",
  times: 50,
  short: 5,
  run,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const db = openDatabase({ url: await postgres.createDatabase("chaos") });
  await migrate(db);
  const store = createPostgresStore(db);
  await store.tenants.create({ id: TENANT, name: "Chaos" });
  const [worker, gateway] = await Promise.all([
    createRedisLog({ url: redis.url }),
    createRedisLog({ url: redis.url }),
  ]);
  const found: WipeFound = {
    mustReport: 0,
    untold: 0,
    slowestMs: 0,
    badHistory: 0,
    illegal: 0,
    unended: 0,
    wrongReaders: 0,
    wrongArchives: 0,
    notRefused: 0,
  };
  try {
    for (let n = 1; n <= times; n++) {
      const young = await createRedisLog({ url: redis.url });
      const logs = [gateway, young];
      const round = new WipeRound(
        { store, log: worker },
        logs.map((log) => ({ store, log })),
        random,
        found,
      );
      await round.run(`r${n}`, redis);
      await young.close();
      if (n % 5 === 0) progress(`${n} of ${times}: ${JSON.stringify(found)}`);
    }
  } finally {
    await Promise.all([worker.close(), gateway.close(), store.close()]);
    await Promise.all([postgres.stop(), redis.stop()]);
  }
  return [
    { figure: "slowest notification", value: Math.round(found.slowestMs), atMost: REPORT_MS, unit: "ms" },
    { figure: "readers never notified", value: found.untold, exactly: 0 },
    { figure: "histories that differ from the archive", value: found.badHistory, exactly: 0 },
    { figure: "illegal events", value: found.illegal, exactly: 0 },
    { figure: "turns that did not end well", value: found.unended, exactly: 0 },
    { figure: "readers that don't have the final state", value: found.wrongReaders, exactly: 0 },
    { figure: "archives that don't fold to the final state", value: found.wrongArchives, exactly: 0 },
    { figure: "writers that were not refused", value: found.notRefused, exactly: 0 },
    { figure: "readers beyond the archive", value: found.mustReport, atLeast: times * (RUNNING + 2) },
  ];
}
