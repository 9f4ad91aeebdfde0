/**
 * `openParts` opens what gateway and worker need: store, log and signals, on PostgreSQL and Redis or in a folder.
 * Invariant: it fails before anything listens if a server can't be used, with the address and what to change. What it
 * has opened is closed again if a later part fails.
 */
import { mkdirSync, realpathSync } from "node:fs";
import type { Log } from "../log/log.ts";
import { createMemoryLog } from "../log/memory.ts";
import { createRedisLog } from "../log/redis/create-redis-log.ts";
import {
  explainServerError,
  hasServers,
  readAuditOptions,
  requireDatabaseUrl,
  requireRedisUrl,
  type Settings,
  SettingsError,
} from "./settings.ts";
import { ensureTenant } from "../session/create-key.ts";
import { createMemorySignals } from "../signals/memory.ts";
import { createRedisSignals } from "../signals/redis.ts";
import type { Signals } from "../signals/signals.ts";
import type { FeatureTables, StoreFeature } from "../store/features.ts";
import { isStoreError } from "../store/errors.ts";
import { FolderInUse } from "../store/pglite/lock-folder.ts";
import {
  createPeriods,
  DevPackageMissing,
  endAllLeases,
  importDevPackage,
  openDataFolder,
  readFolderSecret,
} from "../store/pglite/open-data-folder.ts";
import { migrate, requireBaseline } from "../store/database/migrate.ts";
import { openDatabase } from "../store/database/open-database.ts";
import { createPostgresStore } from "../store/create-postgres-store.ts";
import type { ObjectStorage } from "../store/objects.ts";
import type { ClosableStore } from "../store/store.ts";
import { shareFolder } from "./share-folder.ts";

export interface Parts {
  readonly store: ClosableStore;
  readonly log: Log;
  readonly signals: Signals;
  close(): Promise<void>;
}

export interface OpenedParts extends Parts {
  /** Where the data is. */
  readonly place: "servers" | "folder";
  /** The secret that the folder keeps. Null if there is no folder. */
  readonly secret: string | null;
}

export interface OpenPartsOptions {
  readonly tenant: string;
  /** Whether to create or update the tables first. Otherwise a database without them is an error. */
  readonly shouldMigrate: boolean;
  readonly features: readonly StoreFeature[];
  /** Keeps files. Null for the store itself. */
  readonly storage: ObjectStorage | null;
  /** Where to keep the data without servers. */
  readonly dataFolder: string;
}

/** Leases have their own connections, so that a busy worker doesn't lose its lease. */
const LEASE_CONNECTIONS = 2;
/** A session that never exists. Reading it shows whether Redis answers. */
const PROBE = { tenant: "turnstream", session: "turnstream-start" };

/** @throws SettingsError */
export async function openParts(settings: Settings, options: OpenPartsOptions): Promise<OpenedParts> {
  try {
    const parts = hasServers(settings)
      ? await openServers(settings, options)
      : await openSharedFolder(settings, options);
    try {
      await ensureTenant(parts.store, options.tenant);
      return parts;
    } catch (error) {
      await parts.close();
      throw error;
    }
  } catch (error) {
    throw explainServerError(error, settings);
  }
}

interface FolderParts extends OpenedParts {
  migrate(features: readonly StoreFeature[]): Promise<void>;
}

/** The apps of a process can share a folder and have different features. */
async function openSharedFolder(settings: Settings, options: OpenPartsOptions): Promise<OpenedParts> {
  const { dataFolder, features } = options;
  const parts = await shareFolder(await createFolder(dataFolder), () => openFolder(settings, options));
  try {
    if (features.length > 0) await parts.migrate(features);
    return parts;
  } catch (error) {
    await parts.close();
    throw isStoreError(error, "OTHER_BASELINE") ? explainFolderError(error, dataFolder) : error;
  }
}

/** The log and the signals are in memory: a log is restored from the archive, and signals only save time. */
async function openFolder(
  settings: Settings,
  { dataFolder, storage }: OpenPartsOptions,
): Promise<FolderParts> {
  const db = await openDataFolder(dataFolder).catch((error: unknown) => {
    throw explainFolderError(error, dataFolder);
  });
  // Another connection for the lock would wait for the only one for ever.
  const store = createPostgresStore(db, {
    holdsLock: false,
    ...(storage === null ? {} : { storage }),
    ...readAuditOptions(settings),
  });
  try {
    await migrate(db);
    await createPeriods(db);
    await endAllLeases(db);
    const [log, signals] = [createMemoryLog(), createMemorySignals()];
    return {
      store,
      log,
      signals,
      place: "folder",
      secret: readFolderSecret(dataFolder),
      migrate: async (features) => void (await migrate(db, { features: listTables(features) })),
      close: () => closeAll([signals, log, store]),
    };
  } catch (error) {
    await store.close();
    throw isStoreError(error, "OTHER_BASELINE") ? explainFolderError(error, dataFolder) : error;
  }
}

function listTables(features: readonly StoreFeature[]): FeatureTables[] {
  return features.flatMap(({ tables }) => tables ?? []);
}

/** Returns the real path. Nothing is created without the package of the database. */
async function createFolder(folder: string): Promise<string> {
  try {
    await importDevPackage();
    mkdirSync(folder, { recursive: true });
    return realpathSync(folder);
  } catch (error) {
    throw explainFolderError(error, folder);
  }
}

function explainFolderError(error: unknown, folder: string): SettingsError {
  if (error instanceof DevPackageMissing)
    return new SettingsError("DEV_PACKAGE", "Neither DATABASE_URL nor REDIS_URL is set.", error);
  if (error instanceof FolderInUse)
    return new SettingsError("FOLDER_IN_USE", `Process ${error.pid} uses the folder ${folder}.`, error);
  if (isStoreError(error, "OTHER_BASELINE"))
    return new SettingsError("FOLDER", `Another unreleased version created the folder ${folder}.`, error);
  return new SettingsError("FOLDER", `PGlite can't open the folder ${folder}.`, error);
}

async function openServers(
  settings: Settings,
  { shouldMigrate, storage, features }: OpenPartsOptions,
): Promise<OpenedParts> {
  const [url, redisUrl] = [requireDatabaseUrl(settings), requireRedisUrl(settings)];
  const { value: schema } = settings.schema;
  const named = schema === null ? { url } : { url, schema };
  const db = openDatabase(named);
  const leases = openDatabase({ ...named, max: LEASE_CONNECTIONS });
  const store = createPostgresStore(db, {
    leases,
    ...(storage === null ? {} : { storage }),
    ...readAuditOptions(settings),
  });
  const opened: { close(): Promise<void> }[] = [store];
  try {
    await (shouldMigrate ? migrate(db, { features: listTables(features) }) : requireBaseline(db));
    const log = await createRedisLog({ url: redisUrl });
    opened.unshift(log);
    await log.head(PROBE);
    const signals = createRedisSignals({ url: redisUrl });
    opened.unshift(signals);
    return {
      store,
      log,
      signals,
      place: "servers",
      secret: null,
      close: () => closeAll(opened),
    };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

async function closeAll(opened: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of opened) await part.close();
}
