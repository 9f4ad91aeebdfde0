/**
 * `poison` tests promise 30: a turn that kills its process every time doesn't affect other turns. It runs beside ten
 * innocent turns in two workers, which the scenario restarts as an orchestrator does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listBlocks } from "@turnstream/protocol";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { createResults, ModelEnvironment, resultFigures } from "./model-environment.ts";
import { poisonName } from "./stand-in-provider.ts";

const WORKERS = 2;
const INNOCENTS = 10;
const FULL_ANSWER_MS = 20_000;
const SHORT_ANSWER_MS = 4_000;
const RESTART_MS = 200;
const MAX_DEATHS = 5;
/** Other turns can die with it twice: only then it is started alone. */
const MAX_CALLS = 3;
const DEAD_LETTERS = 100;

async function run({ times, isShort, progress }: RunOptions): Promise<Figure[]> {
  const answerMs = isShort === true ? SHORT_ANSWER_MS : FULL_ANSWER_MS;
  return ModelEnvironment.use(progress, async (environment) => {
    const over = new AbortController();
    let deaths = 0;
    const keepWorker = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const worker = await environment.launchWorker().catch((error: unknown) => {
          // The end of the scenario kills a worker that is still starting.
          if (!over.signal.aborted) throw error;
        });
        if (worker === undefined) return;
        await worker.exited;
        deaths++;
        if (!over.signal.aborted) await sleep(RESTART_MS);
      }
    };
    const workers = Array.from({ length: WORKERS }, keepWorker);
    const results = createResults();
    const deathsPerRound: number[] = [];
    let notices = 0;
    let deadLetters = 0;
    for (let n = 0; n < times; n++) {
      const before = deaths;
      const innocents = await environment.start(INNOCENTS, answerMs);
      await environment.untilAsked(innocents);
      const poisoned = await environment.start(1, 0, poisonName);
      const [ended] = await environment.untilEnded(poisoned);
      const hasNotice = ended?.status === "error" && listBlocks(ended).some(({ kind }) => kind === "notice");
      if (hasNotice) notices++;
      // The end of a turn is in the log before its commit.
      for (const { follower } of poisoned) await environment.turns.untilIdle(follower.ref);
      const dead = await environment.turns.backend.store.queue.dead({ limit: DEAD_LETTERS });
      const isDead = dead.some(({ session }) => session === poisoned[0]?.follower.ref.session);
      if (isDead) deadLetters++;
      await environment.judge(innocents, results);
      deathsPerRound.push(deaths - before);
      progress(`${n + 1} of ${times}: ${deaths - before} deaths, ${JSON.stringify(results)}`.slice(0, 300));
    }
    over.abort();
    await Promise.all(environment.living.map((worker) => worker.kill()));
    await Promise.all(workers);
    return [
      { figure: "poisoned turns", value: times, exactly: times },
      { figure: "most deaths by one poisoned turn", value: Math.max(...deathsPerRound), atMost: MAX_DEATHS },
      { figure: "poisoned turns that ended with a notice", value: notices, exactly: times },
      { figure: "poisoned turns in the dead-letter list", value: deadLetters, exactly: times },
      ...resultFigures(results, MAX_CALLS).map((figure) =>
        figure.figure === "most model calls of one turn" ? { ...figure, atMost: MAX_CALLS } : figure,
      ),
    ];
  });
}

export const poison: Scenario = {
  promise: 30,
  about: "runs a turn that kills its process every time beside ten innocent ones",
  times: 3,
  short: 1,
  run,
};
