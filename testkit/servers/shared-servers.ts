/**
 * Where the servers are that global-setup.ts has started, for tests named *.services.test.ts. They are shared:
 * a test uses keys with a prefix of its own and a database of its own, and never flushes, kills or freezes
 * them. A test that does such things starts a server for itself.
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

/** One for each node of the shared Redis Cluster; `createCluster({ rootNodes })` takes them as they are. */
export function sharedClusterNodes(): { url: string }[] {
  return inject("clusterUrls").map((url) => ({ url }));
}

/** A new, empty database on the shared server. */
export async function freshDatabaseUrl(): Promise<string> {
  return await createDatabase(inject("postgresUrl"), databaseName());
}

/**
 * A new database on the shared server with what `prepare` puts into it. It is prepared once under its name and then
 * copied: to migrate takes ten times as long.
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

/** For keys of Redis: no other test has it. */
export function freshPrefix(): string {
  return `test-${randomUUID()}:`;
}
