/**
 * Starts the servers that all tests of the project `services` share, and stops them after the last test. Tests get
 * their URLs from shared-servers.ts.
 *
 * Invariant: a server that can't be started fails the run; no test is skipped.
 */
import type { TestProject } from "vitest/node";

import { startPostgres } from "./start-postgres.ts";
import { startRedisCluster } from "./start-redis-cluster.ts";
import { startRedis } from "./start-redis.ts";

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // No test kills the shared server, so its data need not survive a crash. Its databases live only for one test, so
  // vacuuming them is wasted work.
  const config = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", autovacuum: "off" };
  const [redis, cluster, postgres] = await Promise.all([
    startRedis(),
    startRedisCluster(),
    startPostgres({ config }),
  ]);
  project.provide("redisUrl", redis.url);
  project.provide(
    "clusterUrls",
    cluster.nodes.map(({ url }) => url),
  );
  project.provide("postgresUrl", postgres.url);
  return async () => {
    await Promise.all([redis.stop(), cluster.stop(), postgres.stop()]);
  };
}
