/** `openBackend` opens the store, the log and the signals that server and worker share. */
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
  // Leases have their own connections, so that a busy worker doesn't lose its lease.
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

/** Prints one line for the operator. A `ToolError` is a message for the user, not a failure. */
export function report(error: unknown, { during }: ErrorContext): void {
  if (error instanceof ToolError) return;
  console.error(`${during}: ${error instanceof Error ? error.message : String(error)}`);
}
