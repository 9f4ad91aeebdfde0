/**
 * `redisPartition` tests promise 32: a worker that has lost Redis but not PostgreSQL gives its turns up to workers that
 * have both. A proxy between this one worker and Redis drops every byte.
 */
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { createResults, ModelEnvironment, resultFigures } from "./model-environment.ts";

const TURNS = 10;
/** Longer than the start of a process on a busy machine, because the turns must run until the partition. */
const ANSWER_MS = 20_000;
const GIVE_UP_MS = 15_000;

async function run({ times, progress }: RunOptions): Promise<Figure[]> {
  return ModelEnvironment.use(progress, async (environment) => {
    const { redis } = environment.turns.backend;
    const results = createResults();
    let slowestMs = 0;
    let elsewhere = 0;
    for (let n = 0; n < times; n++) {
      const proxy = await startProxy({ to: { host: "127.0.0.1", port: redis.port } });
      const cutOff = await environment.launchWorker({ redisUrl: `redis://${proxy.host}:${proxy.port}` });
      const started = await environment.start(TURNS, ANSWER_MS);
      await environment.untilAsked(started);
      const healthy = await environment.launchWorker();
      const since = performance.now();
      proxy.blackhole();
      const isTaken = () => started.every(({ follower }) => follower.owner === healthy.name);
      await until("the takeovers", isTaken, { timeoutMs: 180_000 });
      slowestMs = Math.max(slowestMs, performance.now() - since);
      elsewhere += started.filter(({ follower }) => follower.owner === healthy.name).length;
      await proxy.heal();
      await environment.judge(started, results);
      await Promise.all([cutOff, healthy].map((worker) => worker.kill()));
      await proxy.close();
      progress(`${n + 1} of ${times}: ${Math.round(slowestMs)} ms, ${JSON.stringify(results)}`.slice(0, 300));
    }
    return [
      { figure: "partitions", value: times, exactly: times },
      { figure: "turns that ended in another worker", value: elsewhere, exactly: times * TURNS },
      {
        figure: "slowest turn until another worker had it",
        value: Math.round(slowestMs),
        atMost: GIVE_UP_MS,
        unit: "ms",
      },
      // The cut-off worker can't write the answer of its model, so another worker asks again.
      ...resultFigures(results, 2),
    ];
  });
}

export const redisPartition: Scenario = {
  promise: 32,
  about: "cuts one worker off from Redis, and measures when another has its turns",
  times: 5,
  short: 1,
  run,
};
