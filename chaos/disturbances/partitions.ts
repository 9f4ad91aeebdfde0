/**
 * `partitions` cuts a gateway or a worker off from Redis or PostgreSQL, in one direction at a time, for 5, 20 and 60
 * seconds. Each process has a host of its own.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startNetwork } from "@turnstream/testkit/network/partitioned-network.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { FaultRounds } from "./fault-rounds.ts";

const TURNS = 20;
/** What a turn still streams after the partition. */
const AFTERWARDS_MS = 3_000;
/** Turns go on in other processes, so the answers need not last as long as the longest partitions. */
const LONGEST_ANSWER_MS = 24_000;
const SHORT_MS = 5_000;

const KINDS = [5_000, 20_000, 60_000].flatMap((ms) =>
  (["workers", "gateways"] as const).flatMap((processes) =>
    (["redis", "postgres"] as const).flatMap((server) =>
      (["toServer", "toClient"] as const).map((direction) => ({ ms, processes, server, direction })),
    ),
  ),
);

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, isShort, random } = options;
  return FaultRounds.run({ ...options, workers: 2, startNetwork }, async (rounds) => {
    rounds.count("partitions that drop packets", rounds.dropsPackets ? times : 0);
    for (let n = 0; n < times; n++) {
      const { ms, processes, server, direction } = KINDS[n % KINDS.length] as (typeof KINDS)[number];
      const cutMs = isShort === true ? SHORT_MS : ms;
      const { host } = rounds[processes][Math.floor(random() * 2)] ?? {};
      await rounds.round(TURNS, Math.min(cutMs + AFTERWARDS_MS, LONGEST_ANSWER_MS), async () => {
        await sleep(random() * 1_000);
        host?.cut(server, direction);
        await sleep(cutMs);
        await host?.heal();
        rounds.count(`${processes} from ${server}`);
      });
    }
  });
}

export const partitions: Scenario = {
  promise: 40,
  about: "cuts gateways and workers off from Redis and PostgreSQL, for 5, 20 and 60 seconds",
  times: KINDS.length,
  short: 1,
  usesNamespaces: true,
  run,
};
