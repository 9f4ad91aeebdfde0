/**
 * `redisLate` tests that bytes which reach Redis late change nothing: a hop holds what a worker has sent, the worker
 * gives its connections up and goes on over new ones, and 3 to 25 seconds later the hop delivers.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { FaultRounds } from "./fault-rounds.ts";

const WORKERS = 3;
const TURNS = 24;
const LATE_MS = { shortest: 3_000, longest: 25_000 };
const SHORT_LATE_MS = { shortest: 4_500, longest: 6_000 };
/** The turns still run when the last bytes arrive. */
const AFTERWARDS_MS = 4_000;

async function run(options: RunOptions): Promise<Figure[]> {
  const { random, times, isShort } = options;
  const late = isShort === true ? SHORT_LATE_MS : LATE_MS;
  const hops: TcpProxy[] = [];
  const start = async () => {
    const backend = await startBackend();
    const to = { host: "127.0.0.1", port: backend.redis.port };
    for (let n = 0; n < WORKERS; n++) hops.push(await startProxy({ to }));
    return backend;
  };
  const redisUrlOf = (worker: number) => `redis://127.0.0.1:${hops[worker]?.port}`;
  try {
    return await FaultRounds.run({ ...options, workers: WORKERS, start, redisUrlOf }, async (rounds) => {
      for (let n = 0; n < times; n++)
        await rounds.round(TURNS, late.longest + AFTERWARDS_MS, async () => {
          await Promise.all(hops.map((hop) => deliverLate(hop, rounds, random, late)));
        });
    });
  } finally {
    await Promise.all(hops.map((hop) => hop.close()));
  }
}

/** Holds what one worker sends, as often as the time of a round allows. */
async function deliverLate(
  hop: TcpProxy,
  rounds: FaultRounds,
  random: () => number,
  { shortest, longest }: typeof LATE_MS,
): Promise<void> {
  const end = performance.now() + longest;
  for (let left = longest; left >= shortest; left = end - performance.now()) {
    const lateMs = shortest + random() * (left - shortest);
    const release = hop.hold();
    await sleep(lateMs);
    release();
    rounds.count("late deliveries");
    await sleep(200 + random() * 1_000);
  }
}

export const redisLate: Scenario = {
  promise: 39,
  about: "delivers what workers sent to Redis 3 to 25 seconds late",
  times: 50,
  short: 1,
  run,
};
