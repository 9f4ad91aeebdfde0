/**
 * `failoverProxied` tests a failover of Redis behind a proxy that keeps the connections of its clients, as managed
 * services do. The replica is cut off, the primary acknowledges more, and then all connections are moved to the replica.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openBackend, type StartedBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { type RespProxy, startRespProxy } from "@turnstream/testkit/network/resp-proxy.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import {
  replicate,
  type RedisPair,
  startRedisPair,
  untilReplicated,
} from "@turnstream/testkit/servers/start-redis-pair.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { afterUpTo, FaultRounds } from "./fault-rounds.ts";

const TURNS = 24;
const ANSWER_MS = 8_000;
/** Within the first half of an answer. */
const LATEST_MS = 4_000;
/** How long the primary goes on without its replica. */
const LONGEST_ALONE_MS = 1_000;

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, random } = options;
  const pair = await startRedisPair();
  const proxy = await startRespProxy(pair.primary.port);
  let [primary, replica] = [pair.primary, pair.replica];
  const rounds = { ...options, workers: 2, start: () => startBehind(pair, proxy) };
  return FaultRounds.run(rounds, async (load) => {
    for (let n = 0; n < times; n++) {
      await untilReplicated(primary, replica);
      await load.round(TURNS, ANSWER_MS, () =>
        afterUpTo(LATEST_MS, random, async () => {
          pair.link.cut();
          await sleep(random() * LONGEST_ALONE_MS);
          await replica.command("REPLICAOF", "NO", "ONE");
          await load.recordLosses(replica.url);
          await proxy.moveTo(replica.port);
        }),
      );
      [primary, replica] = [replica, primary];
      await replicate(pair, primary, replica);
    }
  });
}

async function startBehind(pair: RedisPair, proxy: RespProxy): Promise<StartedBackend> {
  const postgres = await startPostgres();
  const urls = { databaseUrl: postgres.url, redisUrl: proxy.url };
  const backend = await openBackend({ ...urls, shouldMigrate: true });
  return {
    ...backend,
    ...urls,
    postgres,
    redis: pair.primary,
    async close() {
      await backend.close();
      await proxy.close();
      await Promise.all([pair.stop(), postgres.stop()]);
    },
  };
}

export const failoverProxied: Scenario = {
  promise: 2,
  about: "fails Redis over behind a proxy that keeps connections",
  times: 50,
  short: 1,
  run,
};
