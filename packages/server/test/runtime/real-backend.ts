/** What a stage on real servers is made of: PostgreSQL, Redis, and DBOS as the engine. */
import { freshDatabaseUrl, freshPrefix, sharedRedisUrl } from "@turnstream/services/shared.ts";
import { createDbosEngine } from "../../src/engine/dbos.ts";
import { migrateEngine } from "../../src/engine/dbos-migrate.ts";
import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";
import type { StageParts } from "./turn-harness.ts";

export async function realParts(): Promise<StageParts> {
  return partsOn(sharedRedisUrl(), await freshDatabaseUrl());
}

/** The same on servers of the caller's own. */
export async function partsOn(
  redisUrl: string,
  databaseUrl: string,
  prefix: string = freshPrefix(),
): Promise<StageParts> {
  const db = openDatabase({ url: databaseUrl });
  await migrate(db);
  await migrateEngine(databaseUrl);
  return {
    log: await createRedisLog({ url: redisUrl, keyPrefix: prefix }),
    store: createPostgresStore(db, { leases: openDatabase({ url: databaseUrl, max: 2 }) }),
    signals: createRedisSignals({ url: redisUrl, keyPrefix: prefix }),
    engine: (hooks) => createDbosEngine({ ...hooks, databaseUrl }),
  };
}
