/**
 * `outboxWipe` tests promise 28 when Redis loses its data while committed events are in any stage between commit and
 * archive. A wipe may lose only events that were never committed.
 */
import { CHECKS, checkRound } from "./durable-check.ts";
import { DurableEnvironment, DurableRound } from "./durable-round.ts";
import { Figures } from "./figures.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const SESSIONS = 5;
const COMMITS = 60;

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const figures = new Figures(progress, {
    "committed events": { atLeast: times * COMMITS },
    "delivered and not archived, so published again after the wipe": { atLeast: times },
    ...CHECKS,
  });
  return DurableEnvironment.use(async (environment) => {
    for (let n = 1; n <= times; n++) {
      const round = await DurableRound.play(environment, SESSIONS, async (playing) => {
        const untilCommitted = (count: number) =>
          playing.until(`${count} commits`, () => playing.acknowledged.length >= count);
        playing.startClients("before", 1, random);
        await untilCommitted(random() * COMMITS);
        // A client that has read its rows before the claim would append them before the lost ones.
        await playing.stopClients();
        await environment.turns.backend.redis.command("FLUSHALL");
        const lost = await playing.countRows("delivered_at is not null and archived_at is null");
        figures.add("delivered and not archived, so published again after the wipe", lost);
        await playing.claim();
        playing.startClients("after", 1, random);
        playing.startRelays();
        await untilCommitted(COMMITS);
      });
      figures.add("committed events", await round.countRows("true"));
      await checkRound(round, figures, true);
      figures.print(`${n} of ${times}`);
    }
    return figures.list();
  });
}

export const outboxWipe: Scenario = {
  promise: 28,
  about: "runs FLUSHALL while committed events are on their way to the archive",
  times: 100,
  run,
};
