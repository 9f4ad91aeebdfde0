/**
 * `openParts` opens what gateway and worker need: store, log and signals, on PostgreSQL and Redis or in memory.
 * Invariant: it fails before anything listens if a server can't be used, with the address and what to change. What it
 * has opened is closed again if a later part fails.
 */
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
} from "../operator/settings.ts";
import { createMemorySignals } from "../signals/memory.ts";
import { createRedisSignals } from "../signals/redis.ts";
import type { Signals } from "../signals/signals.ts";
import type { AuditOptions } from "../store/audit-options.ts";
import { isStoreError } from "../store/errors.ts";
import { createMemoryStore } from "../store/memory/store.ts";
import { migrate } from "../store/postgres/migrate.ts";
import { openDatabase } from "../store/postgres/open-database.ts";
import { createPostgresStore } from "../store/postgres/store.ts";
import type { ObjectStorage } from "../store/ports/objects.ts";
import type { ClosableStore } from "../store/store.ts";
import { systemEnv } from "../util/env.ts";

export interface Parts {
  readonly store: ClosableStore;
  readonly log: Log;
  readonly signals: Signals;
  close(): Promise<void>;
}

export interface OpenPartsOptions {
  readonly tenant: string;
  /** Whether to create or update the tables first. Otherwise a database without them is an error. */
  readonly shouldMigrate: boolean;
  /** Keeps files. Null for the store itself. */
  readonly storage: ObjectStorage | null;
}

/** Leases have their own connections, so that a busy worker doesn't lose its lease. */
const LEASE_CONNECTIONS = 2;
/** A session that never exists. Reading it shows whether Redis answers. */
const PROBE = { tenant: "turnstream", session: "turnstream-start" };

/** @throws SettingsError */
export async function openParts(settings: Settings, options: OpenPartsOptions): Promise<Parts> {
  try {
    const parts = hasServers(settings)
      ? await openServers(settings, options)
      : openMemory(readAuditOptions(settings));
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

function openMemory(audit: AuditOptions): Parts {
  const store = createMemoryStore(systemEnv, audit);
  const [log, signals] = [createMemoryLog(), createMemorySignals()];
  return {
    store,
    log,
    signals,
    async close() {
      await signals.close();
      await log.close();
      await store.close();
    },
  };
}

async function openServers(settings: Settings, { shouldMigrate, storage }: OpenPartsOptions): Promise<Parts> {
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
    if (shouldMigrate) await migrate(db);
    const log = await createRedisLog({ url: redisUrl });
    opened.unshift(log);
    await log.head(PROBE);
    const signals = createRedisSignals({ url: redisUrl });
    opened.unshift(signals);
    return {
      store,
      log,
      signals,
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

async function ensureTenant(store: ClosableStore, id: string): Promise<void> {
  if ((await store.tenants.get(id)) !== null) return;
  try {
    await store.tenants.create({ id, name: id });
  } catch (error) {
    // Another process has created it in the meantime.
    if (!isStoreError(error, "EXISTS")) throw error;
  }
}
