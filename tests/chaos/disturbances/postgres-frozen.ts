/**
 * `postgresFrozen` tests promise 31: a PostgreSQL that doesn't answer for a minute doesn't pay the model again. All its
 * processes get SIGSTOP while every turn streams, and SIGCONT long after every lease has expired.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { createResults, ModelEnvironment, resultFigures } from "./model-environment.ts";

const WORKERS = 3;
/** Without `ttlMs` the workers have the default lease, which is shorter than `frozenMs`. */
const FULL = { turns: 60, answerMs: 20_000, frozenMs: 60_000, settings: {} };
const SHORT = { turns: 12, answerMs: 4_000, frozenMs: 12_000, settings: { ttlMs: 6_000 } };

async function run({ times, isShort, progress }: RunOptions): Promise<Figure[]> {
  const { turns, answerMs, frozenMs, settings } = isShort === true ? SHORT : FULL;
  return ModelEnvironment.use(progress, async (environment) => {
    const { postgres } = environment.turns.backend;
    await environment.launchWorkers(WORKERS, settings);
    const results = createResults();
    for (let n = 0; n < times; n++) {
      const started = await environment.start(turns, answerMs);
      await environment.untilAsked(started);
      await sleep(answerMs / 4);
      postgres.freeze();
      await sleep(frozenMs);
      postgres.thaw();
      await environment.judge(started, results);
      progress(`${n + 1} of ${times}: ${JSON.stringify(results)}`.slice(0, 300));
    }
    return [
      { figure: "freezes of PostgreSQL", value: times, exactly: times },
      { figure: "length of a freeze", value: frozenMs, unit: "ms" },
      ...resultFigures(results, 1),
    ];
  });
}

export const postgresFrozen: Scenario = {
  promise: 31,
  about: "freezes PostgreSQL for 60 s while 60 turns stream, and counts model calls",
  times: 3,
  short: 1,
  run,
};
