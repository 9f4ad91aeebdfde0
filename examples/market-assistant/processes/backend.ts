/** What server and worker both stand on: the store, the log and signals. */
import {
  createRedisLog,
  createRedisSignals,
  openDatabase,
  createPostgresStore,
  ToolError,
} from "@turnstream/server";
import type { ErrorContext } from "@turnstream/server/ports";
import { readSetting } from "./process-life.ts";

export async function openBackend() {
  const [databaseUrl, redisUrl] = [readSetting("DATABASE_URL"), readSetting("REDIS_URL")];
  const db = openDatabase({ url: databaseUrl, max: 8 });
  // Leases have connections of their own, so that a busy worker is never taken for a dead one.
  const leases = openDatabase({ url: databaseUrl, max: 2 });
  const store = createPostgresStore(db, { leases });
  const log = await createRedisLog({ url: redisUrl });
  const signals = createRedisSignals({ url: redisUrl });
  return {
    databaseUrl,
    backend: { store, log, signals },
    async close() {
      await Promise.all([signals.close(), log.close()]);
      await store.close();
      await leases.destroy();
    },
  };
}

/** One line for whoever started it. What a tool says to people is no failure of ours. */
export function report(error: unknown, { during }: ErrorContext): void {
  if (error instanceof ToolError) return;
  console.error(`${during}: ${error instanceof Error ? error.message : String(error)}`);
}
