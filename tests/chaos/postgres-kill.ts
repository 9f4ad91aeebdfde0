/**
 * `postgresKill` tests promise 3: everything that PostgreSQL has committed survives kill -9 of all its processes. In
 * most rounds clients get no answer for some time before the kill.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CHECKS, checkRound, isStored } from "./durable-check.ts";
import { DurableEnvironment, DurableRound } from "./durable-round.ts";
import { readFacts } from "./durable-writes.ts";
import { Figures } from "./figures.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const SESSIONS = 3;
const CLIENTS = 2;
const LONGEST_MS = 250;
const DEAF_MS = 20;

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const figures = new Figures(progress, {
    kills: { exactly: times },
    "commits acknowledged before the kill": { atLeast: times },
    "commits acknowledged after the restart": { atLeast: times },
    "archiving steps acknowledged": { atLeast: times },
    "cut off in flight": { atLeast: times },
    "cut off although committed": { atLeast: times < 20 ? 0 : 1 },
    "wrong after repeating": { exactly: 0 },
    ...CHECKS,
  });
  return DurableEnvironment.use(async (environment) => {
    const { turns, postgres } = environment;
    for (let n = 1; n <= times; n++) {
      let [downAt, before] = [0, 0];
      const round = await DurableRound.play(environment, SESSIONS, async (playing) => {
        playing.startRelays();
        playing.startClients("c", CLIENTS, random);
        // On a slow machine the first commit takes longer than any fixed time.
        await playing.until("a commit before the kill", () => playing.acknowledged.length > 0);
        await sleep(random() * LONGEST_MS);
        if (n % 3 > 0) {
          postgres.blackhole("toClient");
          await sleep(10 + random() * DEAF_MS);
        }
        await turns.backend.postgres.kill();
        [downAt, before] = [performance.now(), playing.acknowledged.length];
        await postgres.heal();
        await turns.backend.postgres.restart();
        await playing.until(
          "commits after the restart",
          () => playing.acknowledged.length > before + SESSIONS,
        );
      });
      const cutOff = round.failed.filter(({ startedAt }) => startedAt < downAt).map(({ write }) => write);
      figures.add("kills");
      figures.add("commits acknowledged before the kill", before);
      figures.add("commits acknowledged after the restart", round.acknowledged.length - before);
      figures.add("archiving steps acknowledged", round.archived);
      figures.add("cut off in flight", cutOff.length);
      figures.add("cut off although committed", cutOff.length - (await findMissing(round, cutOff)).length);
      await checkRound(round, figures);
      figures.report("wrong after repeating", await repeat(round));
      figures.print(`${n} of ${times}`);
    }
    return figures.list();
  });
}

/** Repeats the writes that failed, and some of those that were acknowledged. @returns what is not stored once then */
async function repeat(round: DurableRound): Promise<string[]> {
  const failed = round.failed.map(({ write }) => write);
  const repeated = [...failed, ...failed, ...round.acknowledged.slice(-3)];
  for (const write of repeated) await write.commit(round.environment.turns.backend.store);
  return findMissing(round, [...round.acknowledged, ...failed]);
}

/** Returns the keys of writes that are not stored completely and once. */
async function findMissing(
  { refs, environment }: DurableRound,
  writes: Parameters<typeof isStored>[0][],
): Promise<string[]> {
  const facts = await Promise.all(refs.map((ref) => readFacts(environment.turns.backend.databaseUrl, ref)));
  return writes.filter((write) => !isStored(write, facts.flat())).map(({ key }) => key);
}

export const postgresKill: Scenario = {
  promise: 3,
  about: "kills PostgreSQL with -9 under load: no commit is lost, and none is stored in part",
  times: 100,
  short: 5,
  run,
};
