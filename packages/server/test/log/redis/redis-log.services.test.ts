/** Runs the contract of the log on one Redis and on a Redis Cluster. */
import {
  freshPrefix,
  sharedClusterNodes,
  sharedRedisUrl,
} from "@turnstream/testkit/servers/shared-servers.ts";
import { createRedisLog } from "../../../src/log/redis/create-redis-log.ts";
import { logContract } from "../log.contract.ts";

/** Long timeouts, so that a stalled machine doesn't fail the contract. */
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
