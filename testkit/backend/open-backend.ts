/**
 * `openBackend` opens a store, a log, signals and an engine on PostgreSQL and Redis. `startBackend` starts private
 * servers first.
 *
 * Invariant: `close()` closes everything that the backend has opened.
 */
import {
  createDbosEngine,
  createPostgresStore,
  createRedisLog,
  createRedisSignals,
  openDatabase,
  type PostgresOptions,
  type WorkerOptions,
} from "@turnstream/server";
import type { ClosableStore, Log, Signals } from "@turnstream/server/ports";
import { migrateDatabase } from "./migrate-database.ts";
import { type PostgresOptions as PostgresServerOptions, type PostgresServer, startPostgres } from "../servers/start-postgres.ts";
import { type RedisOptions, type RedisServer, startRedis } from "../servers/start-redis.ts";

export interface BackendOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The prefix of all keys in Redis. @default the default prefix of the log and of the signals */
  readonly keyPrefix?: string;
  /** Name of the connections. @default none */
  readonly name?: string;
  /** Name of the engine's executor. @default a new one for every engine */
  readonly executor?: string;
  readonly database?: Omit<PostgresOptions, "url" | "name">;
  /** Whether leases have their own connections, as a worker under load needs. @default false */
  readonly hasLeasePool?: boolean;
  /** @default the engine's default */
  readonly enginePoolSize?: number;
  /** Whether to create the tables of the store and of the engine first. @default false */
  readonly shouldMigrate?: boolean;
}

export interface TestBackend {
  readonly store: ClosableStore;
  readonly log: Log;
  readonly signals: Signals;
  readonly engine: WorkerOptions["engine"];
  close(): Promise<void>;
}

const LEASE_CONNECTIONS = 2;

export async function openBackend(options: BackendOptions): Promise<TestBackend> {
  const { databaseUrl, redisUrl, keyPrefix, name, executor, enginePoolSize } = options;
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
  const log = await createRedisLog({ url: redisUrl, ...prefixed });
  const signals = createRedisSignals({ url: redisUrl, ...prefixed });
  return {
    store,
    log,
    signals,
    engine: (hooks) =>
      createDbosEngine({
        ...hooks,
        databaseUrl,
        ...(executor === undefined ? {} : { executor }),
        ...(enginePoolSize === undefined ? {} : { poolSize: enginePoolSize }),
      }),
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
    readonly redis?: RedisOptions;
    readonly postgres?: PostgresServerOptions;
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
