/**
 * `partitions` cuts a gateway or a worker off from Redis or PostgreSQL, in one direction at a time, for 5, 20 and 60
 * seconds. Each process has a host of its own. A worker that has lost Redis but not PostgreSQL gives its turns up to
 * workers that have both.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startNetwork } from "@turnstream/testkit/network/partitioned-network.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { FaultRounds } from "./fault-rounds.ts";
import type { StartedTurn } from "./model-environment.ts";

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

/** Redis is away for longer than a worker waits for it. */
const GIVES_UP_AFTER_MS = 15_000;

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, isShort, random } = options;
  let slowestMs = 0;
  const figures = await FaultRounds.run({ ...options, workers: 2, startNetwork }, async (rounds) => {
    for (let n = 0; n < times; n++) {
      const { ms, processes, server, direction } = KINDS[n % KINDS.length] as (typeof KINDS)[number];
      const cutMs = isShort === true ? SHORT_MS : ms;
      const { host, program } = rounds[processes][Math.floor(random() * 2)] ?? {};
      await rounds.round(TURNS, Math.min(cutMs + AFTERWARDS_MS, LONGEST_ANSWER_MS), async (turns) => {
        await sleep(random() * 1_000);
        host?.cut(server, direction);
        const givesUp = processes === "workers" && server === "redis" && cutMs > GIVES_UP_AFTER_MS;
        const isLeaving = givesUp ? measureUntilTaken(turns, program?.name ?? "") : 0;
        await sleep(cutMs);
        await host?.heal();
        slowestMs = Math.max(slowestMs, await isLeaving);
        rounds.count(`${processes} from ${server}`);
      });
    }
  });
  const figure = "slowest turn until another worker had it, without Redis";
  return [...figures, { figure, value: Math.round(slowestMs), atMost: GIVES_UP_AFTER_MS, unit: "ms" }];
}

/** Returns how long it takes until no turn is in this worker. */
async function measureUntilTaken(turns: readonly StartedTurn[], worker: string): Promise<number> {
  const since = performance.now();
  const isTaken = () =>
    turns.every(({ follower }) => follower.owner !== worker || follower.running === undefined);
  await until(`the takeovers from ${worker}`, isTaken, { everyMs: 20 });
  return performance.now() - since;
}

export const partitions: Scenario = {
  promise: 40,
  about: "cuts gateways and workers off from Redis and PostgreSQL, for 5, 20 and 60 seconds",
  times: KINDS.length,
  short: 1,
  usesNamespaces: true,
  run,
};
