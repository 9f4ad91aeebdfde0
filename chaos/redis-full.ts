/**
 * `redisFull` lets the memory of Redis run full while turns run, and frees space some seconds later. In every second
 * round a worker is killed meanwhile, so that turns have to be claimed without memory.
 *
 * Invariant: turns wait and end well afterwards, and a worker reports the outage.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "@turnstream/testkit/util/until.ts";
import { checkPlan } from "./check-plan.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { TurnEnvironment } from "./turn-environment.ts";
import { type Plan, randomPlan } from "./turn-plan.ts";
import type { WorkerProcess } from "./worker-process.ts";

const WORKERS = 2;
const TURNS = 6;
const SLOWNESS = 0.5;
/** Longer than the time after which a refusal is reported. */
const FULL_MS = 6_000;
const REPORT = /refuses writes \(OOM\)/;

export const redisFull: Scenario = {
  promise: 33,
  about: "fills the memory of Redis under load: turns wait, and end well when there is space",
  times: 30,
  short: 2,
  run,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    const { redis, log } = environment.backend;
    const found = { turns: 0, problems: [] as string[], illegal: [] as string[], reported: 0, impaired: 0 };
    for (let n = 1; n <= times; n++) {
      environment.keepWorkers(WORKERS);
      await Promise.all(environment.workers.filter((each) => !each.hasExited).map((each) => each.ready()));
      const played = Promise.all(
        Array.from({ length: TURNS }, (_, t) =>
          play(environment, randomPlan(`r${n}.${t}`, random, SLOWNESS)),
        ),
      );
      played.catch(() => undefined);
      await until("a running turn", () =>
        [...environment.followers].some(({ running }) => running !== undefined),
      );
      await sleep(random() * 500);
      await redis.command("CONFIG", "SET", "maxmemory", "1");
      await sleep(FULL_MS / 2);
      const isKilled = n % 2 === 0;
      if (isKilled) await environment.workers.find((worker) => !worker.hasExited)?.kill();
      await sleep(FULL_MS / 2);
      const isReported = () => environment.workers.some((worker) => !worker.hasExited && hasReported(worker));
      // A process that stood still needs more time.
      const latest = performance.now() + FULL_MS;
      while (performance.now() < latest && !(log.isImpaired === true && isReported())) await sleep(100);
      if (log.isImpaired === true) found.impaired++;
      if (isReported()) found.reported++;
      await redis.command("CONFIG", "SET", "maxmemory", "0");
      environment.keepWorkers(WORKERS);
      for (const { problems, illegal } of await played) {
        found.turns++;
        found.problems.push(...problems);
        found.illegal.push(...illegal);
      }
      progress(`${n} of ${times}: ${JSON.stringify({ ...found, problems: found.problems.length })}`);
    }
    for (const problem of [...found.problems, ...found.illegal].slice(0, 10)) progress(problem);
    return [
      { figure: "turns that were lost or differ from their plan", value: found.problems.length, exactly: 0 },
      { figure: "events that break a rule", value: found.illegal.length, exactly: 0 },
      { figure: "turns", value: found.turns, exactly: times * TURNS },
      { figure: "outages that a living worker had reported", value: found.reported, exactly: times },
      {
        figure: "outages in which the log was impaired for readiness",
        value: found.impaired,
        exactly: times,
      },
    ];
  });
}

/** A worker reports outages that follow each other within half a minute as one. */
function hasReported({ failures }: WorkerProcess): boolean {
  return failures.some((text) => REPORT.test(text));
}

async function play(
  environment: TurnEnvironment,
  plan: Plan,
): Promise<{ readonly problems: readonly string[]; readonly illegal: readonly string[] }> {
  const ref = await environment.createSession();
  const follower = environment.follow(ref);
  try {
    const message = await environment.send(ref, plan);
    const turn = await follower.untilEnded(message, 180_000);
    await environment.untilIdle(ref);
    const { illegal } = await environment.checkSession(ref);
    return { problems: checkPlan(turn, plan, true).problems, illegal };
  } catch (error) {
    return { problems: [`${plan.name}: ${String(error)}`], illegal: [] };
  } finally {
    await follower.stop();
  }
}
