/**
 * `openBackend` opens a store, a log and signals on PostgreSQL and Redis. `startBackend` starts private
 * servers first.
 *
 * Invariant: `close()` closes everything that the backend has opened.
 */
import {
  createPostgresStore,
  createRedisLog,
  createRedisSignals,
  openDatabase,
  type PostgresOptions,
} from "@turnstream/server";
import type { ClosableStore, Log, Signals } from "@turnstream/server/internal";
import { HistoryFolder, recordLog } from "../history/record-history.ts";
import { migrateDatabase } from "./migrate-database.ts";
import {
  type PostgresOptions as PostgresServerOptions,
  type PostgresServer,
  startPostgres,
} from "../servers/start-postgres.ts";
import { type RedisOptions, type RedisServer, startRedis } from "../servers/start-redis.ts";

export interface BackendOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The prefix of all keys in Redis. @default the default prefix of the log and of the signals */
  readonly keyPrefix?: string;
  /** Name of the connections. @default none */
  readonly name?: string;
  readonly database?: Omit<PostgresOptions, "url" | "name">;
  /** Whether leases have their own connections, as a worker under load needs. @default false */
  readonly hasLeasePool?: boolean;
  /** Whether to create the tables first. @default false */
  readonly shouldMigrate?: boolean;
  /** Records every append and every read of the log in this folder, under `name`. @default nothing is recorded */
  readonly historyFolder?: string;
}

export interface TestBackend {
  readonly store: ClosableStore;
  readonly log: Log;
  readonly signals: Signals;
  close(): Promise<void>;
}

const LEASE_CONNECTIONS = 2;

export async function openBackend(options: BackendOptions): Promise<TestBackend> {
  const { databaseUrl, redisUrl, keyPrefix, name, historyFolder } = options;
  if (options.shouldMigrate === true) await migrateDatabase(databaseUrl);
  const named = name === undefined ? {} : { name };
  const prefixed = keyPrefix === undefined ? {} : { keyPrefix };
  const db = openDatabase({ url: databaseUrl, ...named, ...options.database });
  const store = createPostgresStore(
    db,
    options.hasLeasePool === true
      ? { leases: openDatabase({ url: databaseUrl, max: LEASE_CONNECTIONS, ...named }) }
      : {},
  );
  const redisLog = await createRedisLog({ url: redisUrl, ...prefixed });
  const log =
    historyFolder === undefined
      ? redisLog
      : recordLog(redisLog, name ?? "", new HistoryFolder(historyFolder).open(name ?? ""));
  const signals = createRedisSignals({ url: redisUrl, ...prefixed });
  return {
    store,
    log,
    signals,
    close: async () => {
      await signals.close();
      await log.close();
      await store.close();
    },
  };
}

/** A migrated backend on its own servers. */
export interface StartedBackend extends TestBackend {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

/** Starts PostgreSQL and Redis. Both stop when the backend is closed. */
export async function startBackend(
  options: Omit<BackendOptions, "databaseUrl" | "redisUrl" | "shouldMigrate"> & {
    readonly postgres?: PostgresServerOptions;
    readonly redis?: RedisOptions;
    /** Creates a database with this name. @default the server's default database */
    readonly databaseName?: string;
  } = {},
): Promise<StartedBackend> {
  const { databaseName } = options;
  const [postgres, redis] = await Promise.all([startPostgres(options.postgres), startRedis(options.redis)]);
  const databaseUrl = databaseName === undefined ? postgres.url : await postgres.createDatabase(databaseName);
  const urls = { databaseUrl, redisUrl: redis.url };
  const backend = await openBackend({ ...options, ...urls, shouldMigrate: true });
  return {
    ...backend,
    ...urls,
    postgres,
    redis,
    close: async () => {
      await backend.close();
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
}
