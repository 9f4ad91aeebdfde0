/**
 * `failover` cuts the replica off, lets the primary continue alone, and then promotes the replica, so events that were
 * acknowledged meanwhile are lost.
 *
 * Invariant: the loss is always noticed. No event is accepted before a new claim, and every reader ends with exactly
 * the new log, after a resync if its own log diverged. Owners and gateways switch at different moments, so for a while
 * both servers receive writes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Cursor, compareCursors } from "@turnstream/protocol";
import { createRedisLog } from "@turnstream/server";
import { isLogError } from "@turnstream/server/ports";
import { createMemoryStore } from "@turnstream/server/testing";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import {
  type RedisPair,
  startRedisPair,
  untilReplicated,
} from "@turnstream/testkit/servers/start-redis-pair.ts";
import { readText } from "./ledger.ts";
import { type Crowd, hasExactly, Load } from "./load.ts";
import { WriterOwner } from "./writers.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const SESSIONS = 8;
const HOST = "127.0.0.1";

interface Found {
  /** Acknowledged and missing: the cost of a failover. */
  lost: number;
  /** Missing although the new primary already had it or acknowledged it. */
  lostForNothing: number;
  gaps: number;
  duplicates: number;
  torn: number;
  strangers: number;
  /** Entries that the new primary accepted between its promotion and a claim. */
  beforeClaim: number;
  /** Attempts to append there before a claim, and how many of them were refused. */
  tries: number;
  refused: number;
  sawLost: number;
  sawLostUntold: number;
  silentGaps: number;
  twoMeanings: number;
  reported: number;
  /** Readers that continued in the new log without a resync. */
  wentOn: number;
}

export const failover: Scenario = {
  promise: 2,
  about: "cuts the replica off, then fails over to it",
  times: 50,
  run,
};

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const pair = await startRedisPair();
  const second = await startProxy({ to: { host: HOST, port: pair.primary.port } });
  const [owners, gateways] = await Promise.all([
    createRedisLog({ url: pair.url }),
    createRedisLog({ url: `redis://${HOST}:${second.port}` }),
  ]);
  const readers = [owners, gateways, gateways];
  const load = await Load.make({ store: createMemoryStore(), owners, gateways, readers, random }, SESSIONS);
  const found: Found = {
    lost: 0,
    lostForNothing: 0,
    gaps: 0,
    duplicates: 0,
    torn: 0,
    strangers: 0,
    beforeClaim: 0,
    tries: 0,
    refused: 0,
    sawLost: 0,
    sawLostUntold: 0,
    silentGaps: 0,
    twoMeanings: 0,
    reported: 0,
    wentOn: 0,
  };
  let [primary, replica] = [pair.primary, pair.replica];
  try {
    for (let n = 1; n <= times; n++) {
      // Readers of these sessions have seen nothing that the replica lacks.
      const resting = new Set([...load.crowds].filter(() => random() < 0.25));
      await untilReplicated(primary, replica);
      load.start(resting);
      await sleep(20 + random() * 80);
      pair.link.cut();
      // A session that the replica doesn't know.
      const newborn = await load.add();
      await sleep(20 + random() * 180);
      await replica.command("REPLICAOF", "NO", "ONE");
      const heads = await tryToAppend(load, replica, found);
      for (const front of random() < 0.5 ? [pair.front, second] : [second, pair.front]) {
        front.retarget({ host: HOST, port: replica.port });
        front.cutConnections();
        await sleep(random() * 100);
      }
      load.wake();
      await load.recovered();
      await load.settle();
      for (const crowd of load.crowds) await check(load, crowd, heads.get(crowd.ref.session) ?? "0-0", found);
      await load.retire(newborn);
      [primary, replica] = [replica, primary];
      await follow(pair, primary, replica);
      if (n % 5 === 0) progress(`${n} of ${times}: ${JSON.stringify(found)}`);
    }
  } finally {
    await load.end();
    await second.close();
    await pair.stop();
  }
  return figures(times, found, load);
}

/** Tries to append to the new primary before a claim. @returns the head of each log there */
async function tryToAppend(load: Load, server: RedisServer, found: Found): Promise<Map<string, Cursor>> {
  const log = await createRedisLog({ url: server.url });
  const heads = new Map<string, Cursor>();
  for (const { ref, owner } of load.crowds) {
    const head = await log.head(ref);
    if (head !== null) heads.set(ref.session, head.last);
    const { writer = "", epoch = 0 } = owner.claimed ?? {};
    const event = { type: "session.update", title: "never|0|0|1" } as const;
    for (const batch of [{ writer, epoch }, { writer: "stranger" }, { writer, epoch, isRetry: true }]) {
      found.tries++;
      await log.append(ref, { ...batch, counter: 1e9, events: [event] }).catch((error: unknown) => {
        if (isLogError(error, "UNCLAIMED")) found.refused++;
      });
    }
  }
  await log.close();
  return heads;
}

async function check(load: Load, crowd: Crowd, head: Cursor, found: Found): Promise<void> {
  const { ledger, owner, watchers } = crowd;
  const entries = await load.read(crowd);
  // The replica had these entries before the link was cut.
  if (entries === null)
    throw new Error(`the log of ${crowd.ref.session} lost entries that were already compared`);
  const { lost, lostTexts, gaps, duplicates, torn, strangers } = ledger.compare(entries);
  found.lost += lost.length + lostTexts;
  found.gaps += gaps;
  found.duplicates += duplicates;
  found.torn += torn;
  found.strangers += strangers;

  const after = entries.filter(({ cursor }) => compareCursors(cursor, head) > 0);
  const claim = after.findIndex(({ event }) => event.type === "turn.takeover");
  found.beforeClaim += claim < 0 ? after.length : claim;
  const since = after[claim]?.cursor ?? head;
  found.lostForNothing += lost.filter(
    ({ cursor }) => compareCursors(cursor, head) <= 0 || compareCursors(cursor, since) >= 0,
  ).length;
  const record = owner instanceof WriterOwner ? ledger.writers.get(owner.writerName ?? "") : undefined;
  found.lostForNothing += record === undefined ? 0 : Math.max(0, record.flushed - record.found);

  const texts = new Map(entries.map(({ cursor, text }) => [cursor, text]));
  const meanings = new Map<Cursor, string>();
  for (const ack of ledger.acks) meanings.set(ack.cursor, ack.text);
  for (const watcher of watchers) {
    if (!(await hasExactly(watcher, entries))) found.silentGaps++;
    else if (watcher.ends.length === 0 && after.length > 0) found.wentOn++;
    const sawLost = watcher.given.some(({ cursor, text }) => texts.get(cursor) !== text);
    if (sawLost) found.sawLost++;
    if (sawLost && watcher.ends.length === 0) found.sawLostUntold++;
    found.reported += watcher.ends.length;
    for (const entry of watcher.given) {
      const meaning = meanings.get(entry.cursor) ?? readText(entry);
      if (meaning !== readText(entry)) found.twoMeanings++;
      meanings.set(entry.cursor, meaning);
    }
  }
  await load.accept(crowd, entries);
}

/** Makes the old primary the replica of the new one, over the same link. */
async function follow(pair: RedisPair, primary: RedisServer, replica: RedisServer): Promise<void> {
  pair.link.retarget({ host: HOST, port: primary.port });
  await pair.link.heal();
  await replica.command("REPLICAOF", HOST, pair.link.port);
  await until("the old primary to follow the new one", async () => {
    const info = String(await replica.command("INFO"));
    return info.includes("master_link_status:up") && info.includes("aof_rewrite_in_progress:0");
  });
}

function figures(times: number, found: Found, load: Load): Figure[] {
  return [
    { figure: "readers that differ from the log without notice", value: found.silentGaps, exactly: 0 },
    { figure: "readers that saw lost events and were not notified", value: found.sawLostUntold, exactly: 0 },
    { figure: "positions with two meanings", value: found.twoMeanings, exactly: 0 },
    { figure: "events accepted before a new claim", value: found.beforeClaim, exactly: 0 },
    {
      figure: "appends before a claim that were not refused",
      value: found.tries - found.refused,
      exactly: 0,
    },
    { figure: "events lost that the new primary had", value: found.lostForNothing, exactly: 0 },
    { figure: "gaps in the sequence", value: found.gaps, exactly: 0 },
    { figure: "duplicate events", value: found.duplicates, exactly: 0 },
    { figure: "incomplete batches", value: found.torn, exactly: 0 },
    { figure: "events that were refused and are in the log", value: found.strangers, exactly: 0 },
    { figure: "acknowledged events", value: load.tally.acknowledged, atLeast: times * SESSIONS },
    { figure: "acknowledged events lost in the failover", value: found.lost, atLeast: times },
    { figure: "readers that saw lost events", value: found.sawLost, atLeast: times },
    { figure: "readers that had to resync", value: found.reported, atLeast: times },
    { figure: "readers that continued without a resync", value: found.wentOn, atLeast: times },
    { figure: "refusals until a new claim", value: found.refused + load.tally.unclaimed, atLeast: times },
  ];
}
