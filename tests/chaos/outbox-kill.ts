/**
 * `outboxKill` tests promise 28: every committed event is shown, once. A process commits and then appends to the log.
 * It is killed with -9 at random moments, often right between the two, while connections to Redis are cut.
 */
import type { TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import type { Random } from "@turnstream/testkit/util/seeded-random.ts";
import { CommitterProcess } from "./committer-process.ts";
import { CHECKS, checkRound } from "./durable-check.ts";
import { DurableEnvironment, DurableRound } from "./durable-round.ts";
import { Figures } from "./figures.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const SESSIONS = 3;
const LONGEST_MS = 250;
const MOST_COMMITS = 12;
const CUT_EVERY_MS = 200;

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const figures = new Figures(progress, {
    kills: { exactly: times },
    "kills between commit and append": { atLeast: Math.floor(times * 0.8) },
    "committed events": { atLeast: times },
    "published by a relay": { atLeast: Math.ceil(times / 4) },
    // Relays may have published everything before the kill. In a short run this is a matter of chance.
    "published by a relay after the kill": { atLeast: times >= 100 ? Math.ceil(times / 10) : 0 },
    "connections cut": { atLeast: Math.ceil(times / 10) },
    trims: { atLeast: times },
    ...CHECKS,
  });
  return DurableEnvironment.use(async (environment) => {
    const launch = (n: number) =>
      environment.turns.own(new CommitterProcess(environment.settings(`child-${n}`)));
    let next = launch(1);
    for (let n = 1; n <= times; n++) {
      const child = next;
      // The next process starts now, so that it is ready when this one is dead.
      if (n < times) next = launch(n + 1);
      const pauseAt = n % 5 === 0 ? null : 1 + Math.floor(random() * MOST_COMMITS);
      let relayedBefore = 0;
      const round = await DurableRound.play(environment, SESSIONS, async (playing) => {
        playing.startRelays();
        await child.begin({ refs: playing.refs, seed: Math.floor(random() * 2 ** 31), pauseAt });
        const cuts = cutNowAndThen(environment.redis, random);
        await (pauseAt === null ? child.killAfter(1, random() * LONGEST_MS) : child.killAfter(pauseAt, 0));
        relayedBefore = playing.relayed;
        figures.add("connections cut", cuts.stop());
        await environment.redis.heal();
        // PostgreSQL may still commit what the dead process had sent.
        const open = `select 1 from pg_stat_activity where application_name = '${child.name}'`;
        const { databaseUrl } = environment.turns.backend;
        await playing.until("the last commits", async () => (await runSql(databaseUrl, open)).length === 0);
      });
      round.acknowledged.push(...child.committed);
      figures.add("kills");
      // The process waited before this append until it was killed.
      if (pauseAt !== null && child.committed.length >= pauseAt)
        figures.add("kills between commit and append");
      figures.add("committed events", await round.countRows("true"));
      figures.add("published by a relay", round.relayed);
      figures.add("published by a relay after the kill", round.relayed - relayedBefore);
      figures.add("trims", round.trims);
      await checkRound(round, figures);
      figures.print(`${n} of ${times}`);
    }
    return figures.list();
  });
}

/** Cuts either all connections, or the one that carries the next answer, after its request has arrived. */
function cutNowAndThen(proxy: TcpProxy, random: Random): { stop(): number } {
  let cuts = 0;
  const before = proxy.counters().cutMidway;
  const timer = setInterval(() => {
    if (random() < 0.7) proxy.cutAfter(0, "toClient");
    else {
      cuts++;
      proxy.cutConnections();
    }
  }, CUT_EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return cuts + proxy.counters().cutMidway - before;
    },
  };
}

export const outboxKill: Scenario = {
  promise: 28,
  about: "kills a writer with -9 between commit and append: every committed event reaches the log once",
  times: 250,
  short: 5,
  run,
};
