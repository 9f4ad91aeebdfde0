/** What a stage on real servers is made of: PostgreSQL, Redis, and DBOS as the engine. */
import { freshDatabaseUrl, freshPrefix, sharedRedisUrl } from "@turnstream/services/shared.ts";
import { createDbosEngine } from "../../src/engine/dbos.ts";
import { migrateEngine } from "../../src/engine/dbos-migrate.ts";
import { createRedisLog } from "../../src/log/redis.ts";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { openDatabase } from "../../src/store/postgres/open.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import type { StageParts } from "../runtime/stage.ts";

export async function realParts(): Promise<StageParts> {
  const databaseUrl = await freshDatabaseUrl();
  const prefix = freshPrefix();
  const db = openDatabase({ url: databaseUrl });
  await migrate(db);
  await migrateEngine(databaseUrl);
  return {
    log: await createRedisLog({ url: sharedRedisUrl(), prefix }),
    store: postgresStore(db),
    signals: createRedisSignals({ url: sharedRedisUrl(), prefix }),
    engine: (hooks) => createDbosEngine({ ...hooks, databaseUrl }),
  };
}
