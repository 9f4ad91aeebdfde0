/**
 * `failover` cuts the replica off, lets the primary continue alone, and then promotes the replica, so entries that were
 * acknowledged meanwhile are lost. Owners and joiners switch at different moments, so for a while both servers receive
 * writes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog } from "@turnstream/server";
import { isLogError } from "@turnstream/server/internal";
import { createMemoryStore } from "@turnstream/testing";
import { recordLog } from "@turnstream/testkit/history/record-history.ts";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { replicate, startRedisPair, untilReplicated } from "@turnstream/testkit/servers/start-redis-pair.ts";
import type { RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { HistoryTally } from "./history-tally.ts";
import { playRound } from "./log-load.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { createTitle, type SessionLoad, TENANT } from "./session-load.ts";

const SESSIONS = 8;
const HOST = "127.0.0.1";

export const failover: Scenario = {
  promise: 2,
  about: "cuts the replica off, then fails over to it",
  times: 50,
  run,
};

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, random } = options;
  const pair = await startRedisPair();
  const second = await startProxy({ to: { host: HOST, port: pair.primary.port } });
  const [owners, joiners] = await Promise.all([
    createRedisLog({ url: pair.url }),
    createRedisLog({ url: `redis://${HOST}:${second.port}` }),
  ]);
  const store = createMemoryStore();
  await store.tenants.create({ id: TENANT, name: "Chaos" });
  const readers = [owners, joiners, joiners];
  const setting = { store, owners, joiners, readers, random, sessions: SESSIONS };
  const tally = new HistoryTally(options);
  let [primary, replica] = [pair.primary, pair.replica];
  let accepted = 0;
  try {
    for (let n = 1; n <= times; n++) {
      const history = await playRound({ ...setting, name: `r${n}` }, async (load) => {
        await untilReplicated(primary, replica);
        // Readers of the other sessions have seen nothing that the replica lacks.
        for (const session of load.sessions) if (random() < 0.75) session.start();
        await sleep(20 + random() * 80);
        pair.link.cut();
        // A session that the replica doesn't know.
        await load.add(1);
        load.sessions.at(-1)?.start();
        await sleep(20 + random() * 180);
        await replica.command("REPLICAOF", "NO", "ONE");
        accepted += await appendUnclaimed(replica, load.sessions);
        for (const front of random() < 0.5 ? [pair.front, second] : [second, pair.front]) {
          front.retarget({ host: HOST, port: replica.port });
          front.cutConnections();
          await sleep(random() * 100);
        }
        load.start();
        await load.recovered();
      });
      tally.add(history);
      [primary, replica] = [replica, primary];
      await replicate(pair, primary, replica);
    }
  } finally {
    await Promise.all([owners, joiners, store].map((part) => part.close()));
    await second.close();
    await pair.stop();
  }
  return [
    ...tally.figures(),
    { figure: "appends before a claim that were not refused", value: accepted, exactly: 0 },
    { figure: "acknowledged appends", value: tally.sum("acknowledged"), atLeast: times * SESSIONS },
    { figure: "acknowledged entries lost in the failover", value: tally.sum("lost"), atLeast: times },
    { figure: "readers that saw lost entries", value: tally.sum("sawLost"), atLeast: times },
    { figure: "readers that were told to reload", value: tally.sum("told"), atLeast: times },
  ];
}

/**
 * Records what the new primary has of each log, and tries to append to it before a claim.
 * @returns how many of the appends were not refused
 */
async function appendUnclaimed(server: RedisServer, sessions: readonly SessionLoad[]): Promise<number> {
  const log = await createRedisLog({ url: server.url });
  let accepted = 0;
  for (const { ref, claimed, history } of sessions) {
    const kept = (await log.head(ref))?.last ?? "0-0";
    history.push({ type: "loss", session: ref.session, kept });
    const recorded = recordLog(log, `${ref.session}/new primary`, (operation) => history.push(operation));
    const { writer = "", epoch = 0 } = claimed ?? {};
    for (const batch of [{ writer, epoch }, { writer: "stranger" }, { writer, epoch, isRetry: true }]) {
      const append = recorded.append(ref, { ...batch, counter: 1e9, events: [createTitle("never")] });
      await append.then(
        () => accepted++,
        (error: unknown) => (accepted += isLogError(error, "UNCLAIMED") ? 0 : 1),
      );
    }
  }
  await log.close();
  return accepted;
}
