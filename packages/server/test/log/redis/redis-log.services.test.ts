/** The contract of the log on one Redis and on a Redis Cluster. */
import {
  freshPrefix,
  sharedClusterNodes,
  sharedRedisUrl,
} from "@turnstream/testkit/servers/shared-servers.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { logContract } from "../log.contract.ts";

/** A machine that stands still is not what this is about. */
const responseTimeoutMs = 30_000;

logContract("Redis", () =>
  createRedisLog({ url: sharedRedisUrl(), keyPrefix: freshPrefix(), responseTimeoutMs }),
);

logContract("Redis Cluster", () =>
  createRedisLog({
    url: sharedClusterNodes().map(({ url }) => url),
    keyPrefix: freshPrefix(),
    responseTimeoutMs,
  }),
);
