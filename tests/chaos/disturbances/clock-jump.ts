/**
 * `clockJump` tests that no turn and no lease depends on the wall clock of a worker. The clock of one worker process
 * jumps forward and back by an hour, before and while turns run. See processes/shifted-clock.ts.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure, RunOptions, Scenario } from "../scenario.ts";
import { createResults, ModelEnvironment, resultFigures, type StartedTurn } from "./model-environment.ts";

const HOUR_MS = 3_600_000;
/** A turn may take an hour, so that a jump by more would end every turn that trusts the clock. */
const SHIFTS_MS = [HOUR_MS + 60_000, -HOUR_MS - 60_000, 0];
const TURNS = 8;
const FULL_ANSWER_MS = 20_000;
const SHORT_ANSWER_MS = 4_000;

async function run({ times, isShort, progress }: RunOptions): Promise<Figure[]> {
  const answerMs = isShort === true ? SHORT_ANSWER_MS : FULL_ANSWER_MS;
  const folder = mkdtempSync(join(tmpdir(), "turnstream-clock-"));
  const clockFile = join(folder, "shift-ms");
  writeFileSync(clockFile, "0");
  try {
    return await ModelEnvironment.use(progress, async (environment) => {
      await environment.launchWorker({ clockFile });
      await environment.launchWorker();
      const results = createResults();
      for (let n = 0; n < times; n++) {
        // Some turns start before each jump, and run while it happens.
        const started: StartedTurn[] = await environment.start(TURNS, answerMs);
        await environment.untilAsked(started);
        for (const shiftMs of SHIFTS_MS) {
          writeFileSync(clockFile, String(shiftMs));
          await sleep(answerMs / 8);
          started.push(...(await environment.start(TURNS, answerMs)));
          await sleep(answerMs / 8);
        }
        await environment.judge(started, results);
        progress(`${n + 1} of ${times}: ${JSON.stringify(results)}`.slice(0, 300));
      }
      return [
        { figure: "jumps of the clock", value: times * SHIFTS_MS.length, exactly: times * SHIFTS_MS.length },
        {
          figure: "leases lost",
          value: environment.workers.filter(({ hasLostLease }) => hasLostLease).length,
          exactly: 0,
        },
        ...resultFigures(results, 1).map((figure) =>
          figure.figure === "takeovers" ? { ...figure, exactly: 0 } : figure,
        ),
      ];
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const clockJump: Scenario = {
  promise: 31,
  about: "moves the clock of a worker by an hour, forward and back",
  times: 5,
  short: 1,
  run,
};
