/** What a stage on real servers is made of: PostgreSQL, Redis, and DBOS as the engine. */
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { createDbosEngine } from "../../src/engine/dbos.ts";
import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";
import { migratedDatabaseUrl } from "../store/migrated-database.ts";
import type { StageParts } from "./turn-harness.ts";

export async function realParts(): Promise<StageParts> {
  return partsOn(sharedRedisUrl(), await migratedDatabaseUrl());
}

/** The same on servers of the caller's own; the database is migrated already. */
export async function partsOn(
  redisUrl: string,
  databaseUrl: string,
  prefix: string = freshPrefix(),
): Promise<StageParts> {
  const db = openDatabase({ url: databaseUrl });
  return {
    log: await createRedisLog({ url: redisUrl, keyPrefix: prefix }),
    store: createPostgresStore(db, { leases: openDatabase({ url: databaseUrl, max: 2 }) }),
    signals: createRedisSignals({ url: redisUrl, keyPrefix: prefix }),
    engine: (hooks) => createDbosEngine({ ...hooks, databaseUrl }),
  };
}
