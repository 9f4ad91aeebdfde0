/**
 * `redisWipe` wipes Redis while some sessions are written and others are idle, archived in part, in whole or not at all.
 * Some readers use a process that has only just started.
 *
 * Invariant: the list that readers are compared with is the archive.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { compareCursors, parseCursor } from "@turnstream/protocol";
import { createPostgresStore, createRedisLog, migrate, openDatabase } from "@turnstream/server";
import type { Store } from "@turnstream/server/internal";
import { readArchive } from "@turnstream/testkit/backend/read-all-events.ts";
import { describe } from "@turnstream/testkit/history/record-history.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { HistoryTally } from "./history-tally.ts";
import { type LogLoad, playRound } from "./log-load.ts";
import { type Figure, NEVER_MS, type RunOptions, type Scenario } from "./scenario.ts";
import { createTitle, createWriter, type SessionLoad, TENANT } from "./session-load.ts";

/** How many sessions are written while Redis is wiped. */
const RUNNING = 3;
/** What is archived of each idle session. */
const IDLE = ["nothing", "part", "all"] as const;
/** How soon a reader that has seen lost entries must be told. */
const REPORT_MS = 1_000;

export const redisWipe: Scenario = {
  promise: 6,
  about: "runs FLUSHALL in the middle of turns",
  times: 50,
  short: 5,
  run,
};

async function run(options: RunOptions): Promise<Figure[]> {
  const { times, random } = options;
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const db = openDatabase({ url: await postgres.createDatabase("chaos") });
  await migrate(db);
  const store = createPostgresStore(db);
  await store.tenants.create({ id: TENANT, name: "Chaos" });
  const [owners, joiners] = await Promise.all([
    createRedisLog({ url: redis.url }),
    createRedisLog({ url: redis.url }),
  ]);
  const setting = { store, owners, joiners, random, sessions: RUNNING + IDLE.length };
  const recordList = (session: SessionLoad) => recordArchive(session, store);
  const tally = new HistoryTally(options);
  let slowestMs = 0;
  try {
    for (let n = 1; n <= times; n++) {
      const young = await createRedisLog({ url: redis.url });
      const round = { ...setting, readers: [joiners, young], name: `r${n}`, recordList };
      const history = await playRound(round, async (load) => {
        const toldMs = await wipe(load, redis, options, store);
        slowestMs = Math.max(slowestMs, toldMs);
        load.start();
        await load.recovered();
      });
      await young.close();
      tally.add(history);
    }
  } finally {
    await Promise.all([owners, joiners, store].map((part) => part.close()));
    await Promise.all([postgres.stop(), redis.stop()]);
  }
  return [
    ...tally.figures(),
    { figure: "slowest notification", value: Math.round(slowestMs), atMost: REPORT_MS, unit: "ms" },
    { figure: "acknowledged entries lost with Redis", value: tally.sum("lost"), atLeast: times },
    { figure: "readers that saw lost entries", value: tally.sum("sawLost"), atLeast: times * RUNNING },
  ];
}

/** @returns how long it took until every reader that had received lost entries was told */
async function wipe(
  { sessions }: LogLoad,
  redis: RedisServer,
  { random }: RunOptions,
  store: Store,
): Promise<number> {
  const running = sessions.slice(0, RUNNING);
  for (const session of running) session.start();
  await Promise.all(sessions.slice(RUNNING).map((session, n) => writeIdle(session, IDLE[n] ?? "all")));
  const archiving = running.map(async (session) => {
    await sleep(random() * 300);
    await session.archive();
  });
  await sleep(30 + random() * 450);
  const archived = () => Promise.all(sessions.map(({ ref }) => store.archive.header(ref)));
  const before = await archived();
  const wipedAt = performance.now();
  await redis.command("FLUSHALL");
  const seen = sessions.map(({ readers, claimed }) => ({
    epoch: claimed?.epoch ?? 0,
    readers: readers.map((reader) => ({ reader, ...reader })),
  }));
  await Promise.all(archiving);
  const after = await archived();
  const beyond = seen.flatMap(({ epoch, readers }, n) => {
    // An archiver may commit after the wipe what it had read before, or what was written since.
    const ends = [after[n], before[n]].map((header) => header?.archived ?? "0-0");
    const kept = ends.find((end) => (parseCursor(end)?.epoch ?? 0) <= epoch) ?? "0-0";
    sessions[n]?.history.push({ type: "loss", session: sessions[n].ref.session, kept });
    return readers.filter(({ position }) => compareCursors(position, kept) > 0);
  });
  while (beyond.some(({ reader }) => reader.toldAt === null) && performance.now() - wipedAt < NEVER_MS)
    await sleep(5);
  return Math.max(...beyond.map(({ reader }) => (reader.toldAt ?? Infinity) - wipedAt), 0);
}

async function writeIdle(session: SessionLoad, archived: (typeof IDLE)[number]): Promise<void> {
  const { log, ref, claimed } = session;
  if (claimed === null) return;
  const writer = createWriter(log, ref, claimed);
  for (const part of ["part", "all"]) {
    await writer.write(createTitle(part));
    await writer.flush();
    if (part === archived) await session.archive();
  }
}

/** Records the archive as the list. It has no keys, so they come from what was read at each position. */
async function recordArchive(session: SessionLoad, store: Store): Promise<void> {
  const { ref, history } = session;
  await session.archive();
  const keys = new Map<string, string>();
  for (const each of history)
    if (each.type === "read") for (const { position, key } of each.entries) keys.set(position, key);
  const entries = (await readArchive(store, ref)).map(({ id, v, at, ...draft }) =>
    describe({ cursor: id, key: keys.get(id) ?? "", text: JSON.stringify({ id, v, at, ...draft }) }),
  );
  history.push({ type: "final", session: ref.session, base: "0-0", entries });
}
