/**
 * `npm run services` starts one private Redis and one PostgreSQL for experiments, until Ctrl-C. Their data are deleted
 * then. Does not touch servers that already run.
 */
import { parseArgs } from "node:util";

import { ServiceError } from "./service-error.ts";
import { startPostgres } from "./start-postgres.ts";
import { startRedisCluster } from "./start-redis-cluster.ts";
import { startRedis } from "./start-redis.ts";

const HELP = `npm run services -- [--cluster]

Starts Redis and PostgreSQL on free ports of 127.0.0.1, prints their URLs, and stops them on Ctrl-C.
Their data are deleted then.

  --cluster   a Redis Cluster of three nodes instead of one Redis
  --help      this text

Examples:
  npm run services
  npm run services -- --cluster
  redis-cli -u "$REDIS_URL" ping         after pasting a line of the output
  psql "$DATABASE_URL"`;

interface Started {
  lines: string[];
  stop: () => Promise<void>;
}

async function startOneRedis(): Promise<Started> {
  const redis = await startRedis();
  return { lines: [`REDIS_URL=${redis.url}`], stop: async () => await redis.stop() };
}

async function startCluster(): Promise<Started> {
  const cluster = await startRedisCluster();
  const urls = cluster.rootNodes.map(({ url }) => url);
  return { lines: [`REDIS_CLUSTER_URLS=${urls.join(",")}`], stop: async () => await cluster.stop() };
}

async function startDatabase(): Promise<Started> {
  const postgres = await startPostgres();
  return { lines: [`DATABASE_URL=${postgres.url}`], stop: async () => await postgres.stop() };
}

async function untilSignal(): Promise<void> {
  // Signal handlers alone don't keep the process alive.
  const stay = setInterval(() => undefined, 2 ** 30);
  await new Promise<void>((resolve) => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => resolve());
  });
  clearInterval(stay);
}

async function main(isCluster: boolean): Promise<void> {
  const started = await Promise.all([isCluster ? startCluster() : startOneRedis(), startDatabase()]);
  const signal = untilSignal();
  for (const line of started.flatMap(({ lines }) => lines)) console.log(line);
  console.log("Ready. Ctrl-C stops them.");
  await signal;
  await Promise.all(started.map(async ({ stop }) => await stop()));
}

function readOptions(): { cluster: boolean; help: boolean } | null {
  try {
    const { values } = parseArgs({ options: { cluster: { type: "boolean" }, help: { type: "boolean" } } });
    return { cluster: values.cluster ?? false, help: values.help ?? false };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  }
}

const options = readOptions();
if (options === null || options.help) {
  console.log(HELP);
  process.exitCode = options === null ? 2 : 0;
} else {
  try {
    await main(options.cluster);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
