/**
 * `rollingDeploy` tests promise 31: a deploy doesn't pay the model again. Four workers run turns with one long model
 * call each. Each worker gets SIGTERM and drains, and its successor starts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import type { TurnFollower } from "../turn-follower.ts";
import { createResults, ModelEnvironment, resultFigures } from "./model-environment.ts";

const WORKERS = 4;
const FULL = { turns: 60, answerMs: 20_000, pauseMs: 2_500 };
const SHORT = { turns: 12, answerMs: 5_000, pauseMs: 500 };
const MAX_CALLS = 1.02;

async function run({ times, isShort, progress }: RunOptions): Promise<Figure[]> {
  const { turns, answerMs, pauseMs } = isShort === true ? SHORT : FULL;
  return ModelEnvironment.use(progress, async (environment) => {
    await environment.launchWorkers(WORKERS);
    const results = createResults();
    const leaves: number[] = [];
    let drained = 0;
    for (let n = 0; n < times; n++) {
      const started = await environment.start(turns, answerMs);
      await environment.untilAsked(started);
      const replaced = environment.living.map(async (worker, index) => {
        await sleep(index * pauseMs);
        drained += started.filter(({ follower }) => isRunningIn(follower, worker.name)).length;
        const since = performance.now();
        worker.signal("SIGTERM");
        await Promise.all([worker.exited, environment.launchWorker()]);
        leaves.push(performance.now() - since);
      });
      await Promise.all(replaced);
      await environment.judge(started, results);
      progress(`${n + 1} of ${times}: ${JSON.stringify(results)}`.slice(0, 300));
    }
    return [
      { figure: "workers replaced", value: leaves.length, exactly: times * WORKERS },
      { figure: "turns that ran in a worker at its SIGTERM", value: drained, atLeast: times },
      ...resultFigures(results, MAX_CALLS),
      { figure: "slowest replacement of a worker", value: Math.round(Math.max(...leaves)), unit: "ms" },
    ];
  });
}

function isRunningIn({ running, owner }: TurnFollower, name: string): boolean {
  return running !== undefined && owner === name;
}

export const rollingDeploy: Scenario = {
  promise: 31,
  about: "replaces four workers one after the other, with 60 turns of 20 s, and counts model calls",
  times: 3,
  short: 1,
  run,
};
