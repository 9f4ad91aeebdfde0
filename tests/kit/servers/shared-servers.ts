/**
 * `sharedRedisUrl`, `sharedClusterNodes`, `freshDatabaseUrl` and `preparedDatabaseUrl` give tests named
 * *.services.test.ts access to the servers of global-setup.ts.
 *
 * Invariant: a test uses its own key prefix and its own database, and never flushes, kills or freezes a shared server.
 * A test that needs this starts its own server.
 */
import { randomUUID } from "node:crypto";

import { inject } from "vitest";

import { createDatabase, createFromTemplate } from "./create-database.ts";

declare module "vitest" {
  export interface ProvidedContext {
    redisUrl: string;
    clusterUrls: string[];
    postgresUrl: string;
  }
}

export function sharedRedisUrl(): string {
  return inject("redisUrl");
}

/** One URL per node of the shared Redis Cluster, in the form that `createCluster({ rootNodes })` takes. */
export function sharedClusterNodes(): { url: string }[] {
  return inject("clusterUrls").map((url) => ({ url }));
}

/** Creates an empty database on the shared server. */
export async function freshDatabaseUrl(): Promise<string> {
  return await createDatabase(inject("postgresUrl"), databaseName());
}

/**
 * Creates a database on the shared server with the content that `prepare` writes. The content is prepared once per
 * template name and then copied, because a migration takes ten times as long as a copy.
 */
export async function preparedDatabaseUrl(
  template: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> {
  return await createFromTemplate(inject("postgresUrl"), databaseName(), { name: template, prepare });
}

function databaseName(): string {
  return `test_${randomUUID().replaceAll("-", "")}`;
}

/** A prefix for Redis keys that no other test has. */
export function freshPrefix(): string {
  return `test-${randomUUID()}:`;
}
