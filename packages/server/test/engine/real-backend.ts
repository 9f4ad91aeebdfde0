/** Opens the backend of a harness on real servers: PostgreSQL and Redis. */
import { openBackend, type TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";

export async function openRealBackend(): Promise<TestBackend> {
  return openBackendOn(sharedRedisUrl(), await migratedDatabaseUrl());
}

/** The same on servers of the caller, with a migrated database. */
export function openBackendOn(
  redisUrl: string,
  databaseUrl: string,
  keyPrefix: string = freshPrefix(),
): Promise<TestBackend> {
  return openBackend({ redisUrl, databaseUrl, keyPrefix, hasLeasePool: true });
}
