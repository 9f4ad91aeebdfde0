/**
 * `diskFull` tests promise 33: the disk of PostgreSQL is full for some seconds, and in every second round the disk of
 * Redis, so that it can't write its append-only file.
 *
 * Invariant: this Redis has `everysec`. With `appendfsync always` it exits instead of refusing writes.
 */
import { join } from "node:path";
import { mountSmallDisk } from "@turnstream/testkit/servers/small-disk.ts";
import { playFullRounds } from "./full-rounds.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

/** Space for the files of a new database and some segments of its log. */
const POSTGRES_MB = 250;
const REDIS_MB = 20;

async function run(options: RunOptions): Promise<Figure[]> {
  const [postgres, redis] = [await mountSmallDisk(POSTGRES_MB), await mountSmallDisk(REDIS_MB)];
  const disks = [
    { ...postgres, name: "disk of PostgreSQL", report: /the disk of PostgreSQL is full/ },
    { ...redis, name: "disk of Redis", report: /refuses writes \(MISCONF\)/ },
  ];
  const servers = {
    postgres: {
      folder: join(postgres.folder, "server"),
      config: { max_wal_size: "64MB", min_wal_size: "64MB" },
    },
    redis: { folder: join(redis.folder, "server"), config: { appendfsync: "everysec" } },
  };
  try {
    return await GatewayEnvironment.use(
      (environment) => playFullRounds(environment, disks, { ...options, killsWorker: false }),
      servers,
    );
  } finally {
    for (const disk of disks) await disk.unmount();
  }
}

export const diskFull: Scenario = {
  promise: 33,
  about: "fills the disks of PostgreSQL and Redis under load: turns wait, and end well when there is space",
  times: 30,
  short: 2,
  run,
};
