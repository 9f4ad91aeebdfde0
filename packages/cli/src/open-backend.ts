/**
 * `withDatabase`, `withStore` and `withBackend` open the database, the store, or the store with Redis while a command
 * runs, and close them also after a failure.
 * Invariant: messages of this file never contain an address, because it can include a password.
 */
import { createPostgresStore, createRedisLog, createRedisSignals, openDatabase } from "@turnstream/server";
import { type OperatorBackend } from "./operator/read-turn-report.ts";
import {
  readAuditOptions,
  requireDatabaseUrl,
  requireRedisUrl,
  type Settings,
  type ClosableStore,
  type Signals,
  type Store,
} from "@turnstream/server/internal";
import { CommandError } from "./cli-context.ts";

export type Database = ReturnType<typeof openDatabase>;

export async function withDatabase<T>(settings: Settings, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDb(settings);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

export async function withStore<T>(
  settings: Settings,
  work: (store: ClosableStore) => Promise<T>,
): Promise<T> {
  const store = createPostgresStore(openDb(settings), readAuditOptions(settings));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

export interface CliBackend extends OperatorBackend {
  readonly signals: Signals;
}

export async function withBackend<T>(
  settings: Settings,
  work: (backend: CliBackend) => Promise<T>,
): Promise<T> {
  const redisUrl = requireRedisUrl(settings);
  const db = openDb(settings);
  const store = createPostgresStore(db, readAuditOptions(settings));
  const log = await createRedisLog({ url: redisUrl });
  const signals = createRedisSignals({ url: redisUrl });
  try {
    return await work({ db, store, log, signals, redisUrl });
  } finally {
    await signals.close();
    await log.close();
    await store.close();
  }
}

/** @throws CommandError if the name of the schema is invalid */
function openDb(settings: Settings): Database {
  const url = requireDatabaseUrl(settings);
  try {
    return openDatabase({ url, schema: settings.schema.value ?? "", max: 2, name: "turnstream-cli" });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandError(
      "TURNSTREAM_SCHEMA must have only small letters, digits and `_`, such as turnstream.",
    );
  }
}

/** Reports a mistyped tenant instead of an empty result. */
export async function requireTenant(store: Store, tenant: string): Promise<void> {
  if ((await store.tenants.get(tenant)) === null)
    throw new CommandError(
      `There is no tenant ${tenant}. Correct \`--tenant\`, or create it with \`turnstream keys create --new-tenant\`.`,
    );
}
