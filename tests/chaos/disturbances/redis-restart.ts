/**
 * `redisRestart` tests promise 31: a restart of Redis doesn't pay the model again. Redis is shut down and started, or
 * killed with -9 and started, while every turn streams the answer to its one model call.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { createResults, ModelEnvironment, resultFigures } from "./model-environment.ts";

const WORKERS = 3;
const FULL = { turns: 60, answerMs: 20_000 };
const SHORT = { turns: 12, answerMs: 4_000 };

async function run({ times, isShort, progress }: RunOptions): Promise<Figure[]> {
  const { turns, answerMs } = isShort === true ? SHORT : FULL;
  return ModelEnvironment.use(progress, async (environment) => {
    const { redis } = environment.turns.backend;
    await environment.launchWorkers(WORKERS);
    const results = createResults();
    for (let n = 0; n < times; n++) {
      const started = await environment.start(turns, answerMs);
      await environment.untilAsked(started);
      await sleep(answerMs / 4);
      if (n % 2 === 0) await redis.kill();
      await redis.restart();
      await environment.judge(started, results);
      progress(`${n + 1} of ${times}: ${JSON.stringify(results)}`.slice(0, 300));
    }
    return [
      { figure: "restarts of Redis", value: times, exactly: times },
      ...resultFigures(results, 1),
      {
        figure: "leases lost",
        value: environment.workers.filter(({ hasLostLease }) => hasLostLease).length,
        exactly: 0,
      },
    ];
  });
}

export const redisRestart: Scenario = {
  promise: 31,
  about: "restarts Redis while 60 turns stream, and counts model calls",
  times: 4,
  short: 1,
  run,
};
