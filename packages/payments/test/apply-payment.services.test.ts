/** Runs the contract of changing payments on Redis and PostgreSQL. */
import { createRedisLog, createRedisSignals } from "@turnstream/server";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { timedHarness } from "../../server/test/store/postgres-harness.ts";
import { paymentsContract } from "./apply-payment.contract.ts";

paymentsContract("Redis and PostgreSQL", async () => {
  const harness = await timedHarness();
  const redis = { url: sharedRedisUrl(), keyPrefix: freshPrefix() };
  return {
    log: await createRedisLog(redis),
    store: harness.store,
    signals: createRedisSignals(redis),
    wait: (ms) => harness.wait(ms),
  };
});
