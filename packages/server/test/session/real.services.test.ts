/** Runs the contracts of the session on Redis and PostgreSQL. */
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { createRedisLog } from "../../src/log/redis/create-redis-log.ts";
import { createRedisSignals } from "../../src/signals/redis.ts";
import { postgresHarness } from "../store/postgres-harness.ts";
import { commandsContract } from "./messages/commands.contract.ts";
import { logRetentionContract } from "./archive/log-retention.contract.ts";
import { handoffContract } from "./history/handoff-history.contract.ts";
import { sessionContract } from "./session.contract.ts";

sessionContract(
  "Redis and PostgreSQL",
  async () => {
    const { store } = await postgresHarness();
    return { log: await createRedisLog({ url: sharedRedisUrl(), keyPrefix: freshPrefix() }), store };
  },
  30,
);

logRetentionContract("Redis and PostgreSQL", async () => {
  const { store } = await postgresHarness();
  return { log: await createRedisLog({ url: sharedRedisUrl(), keyPrefix: freshPrefix() }), store };
});

handoffContract(
  "Redis and PostgreSQL",
  async () => {
    const { store } = await postgresHarness();
    return { log: await createRedisLog({ url: sharedRedisUrl(), keyPrefix: freshPrefix() }), store };
  },
  15,
);

commandsContract("Redis and PostgreSQL", async () => {
  const { store } = await postgresHarness();
  const redis = { url: sharedRedisUrl(), keyPrefix: freshPrefix() };
  return { log: await createRedisLog(redis), store, signals: createRedisSignals(redis) };
});
