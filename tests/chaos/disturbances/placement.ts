/**
 * `placement` tests promise 32: load is balanced after deaths. Two of four workers are killed with -9 while all run
 * turns. Then a worker joins, more turns start, and another worker is killed.
 */
import { until } from "@turnstream/testkit/util/until.ts";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { createResults, ModelEnvironment, resultFigures, type StartedTurn } from "./model-environment.ts";

const WORKERS = 4;
const FULL = { turns: 120, answerMs: 60_000 };
const SHORT = { turns: 24, answerMs: 8_000 };
const MAX_IMBALANCE = 1.3;

async function run({ times, isShort, progress }: RunOptions): Promise<Figure[]> {
  const { turns, answerMs } = isShort === true ? SHORT : FULL;
  const results = createResults();
  let worstStart = 1;
  let worst = 1;
  let leastStarted = 1;
  let leastRecovered = 1;
  for (let n = 0; n < times; n++) {
    await ModelEnvironment.use(progress, async (environment) => {
      await environment.launchWorkers(WORKERS);
      const started = await environment.start(turns, answerMs);
      await environment.untilAsked(started);
      worstStart = Math.max(worstStart, imbalance(countOwners(environment, started)));
      const [running] = await killAndWait(environment, started, 2);
      const placed = countOwners(environment, running);
      worst = Math.max(worst, imbalance(placed));
      const joined = await environment.launchWorker();
      const later = await environment.start(turns / 2, answerMs);
      await environment.untilAsked(later);
      const laterPlaced = countOwners(environment, later);
      // A fair share of three workers is a third, and of two workers a half.
      leastStarted = Math.min(leastStarted, (3 * (laterPlaced.get(joined.name) ?? 0)) / later.length);
      const all = [...started, ...later];
      const [, recovered] = await killAndWait(environment, all, 1);
      const gained = countOwners(environment, recovered).get(joined.name) ?? 0;
      if (recovered.length > 0) leastRecovered = Math.min(leastRecovered, (2 * gained) / recovered.length);
      progress(
        `${n + 1} of ${times}: ${show(placed)}, then ${show(laterPlaced)}, then ${gained} of ${recovered.length}`,
      );
      await environment.judge(all, results);
    });
  }
  return [
    { figure: "kills", value: times * 3, exactly: times * 3 },
    { figure: "most to fewest turns of four workers", value: round(worstStart) },
    {
      figure: "most to fewest turns of the living after two of four died",
      value: round(worst),
      // With few turns, a worker that stands still for half a second takes over too few.
      ...(isShort === true ? {} : { atMost: MAX_IMBALANCE }),
    },
    {
      figure: "of its fair share of later turns, what a joined worker started",
      value: round(leastStarted),
      atLeast: round(1 / MAX_IMBALANCE),
    },
    {
      figure: "of its fair share of recovered turns, what a joined worker took over",
      value: round(leastRecovered),
      atLeast: round(1 / MAX_IMBALANCE),
    },
    ...resultFigures(results),
  ];
}

/**
 * Kills the oldest workers, and waits until others have taken over their turns.
 * @returns the turns that ran at that moment, and those of them that were taken over
 */
async function killAndWait(
  environment: ModelEnvironment,
  turns: readonly StartedTurn[],
  count: number,
): Promise<[StartedTurn[], StartedTurn[]]> {
  const victims = environment.living.slice(0, count);
  const names = new Set(victims.map(({ name }) => name));
  const isOrphan = ({ follower }: StartedTurn) =>
    follower.running !== undefined && names.has(follower.owner ?? "");
  await Promise.all(victims.map((worker) => worker.kill()));
  const running = turns.filter(({ follower }) => follower.running !== undefined);
  const orphans = running.filter(isOrphan);
  await until("the takeovers", () => !orphans.some(isOrphan));
  return [running, orphans];
}

/** Counts the turns that each living worker has or had last, by its name. */
function countOwners(environment: ModelEnvironment, turns: readonly StartedTurn[]): Map<string, number> {
  const counts = new Map(environment.living.map(({ name }) => [name, 0]));
  for (const { follower } of turns) {
    const count = counts.get(follower.owner ?? "");
    if (count !== undefined) counts.set(follower.owner ?? "", count + 1);
  }
  return counts;
}

function imbalance(counts: ReadonlyMap<string, number>): number {
  return Math.max(...counts.values()) / Math.min(...counts.values());
}

function show(counts: ReadonlyMap<string, number>): string {
  return [...counts.values()].join("/");
}

function round(value: number): number {
  return Number(value.toFixed(2));
}

export const placement: Scenario = {
  promise: 32,
  about:
    "kills two of four workers with 120 turns, lets one join, kills another, and counts turns per worker",
  times: 3,
  short: 1,
  run,
};
