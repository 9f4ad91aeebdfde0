/**
 * Tests what feeds cost other clients: long replays don't block the event loop, and an idle session uses little memory.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { EventDraft } from "@turnstream/protocol/writer";
import { expect, test } from "vitest";
import { createSessionFeeds } from "../../src/gateway/feed/session-feeds.ts";
import type { SessionFeeds } from "../../src/gateway/feed/session-feeds.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import type { GatewayContext } from "../../src/gateway/context.ts";
import { createTimeSlicer } from "../../src/util/time-slicer.ts";
import { subscribeToTurn } from "../../src/gateway/sse/turn-subscription.ts";
import { archiveSession } from "../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { createMemoryStore } from "@turnstream/testing";
import { SessionHarness } from "../session/session-harness.ts";
import { createMemoryBackend, openServer } from "./test-server.ts";
import { streamFormat, waitUntilIdle, TestSubscriber, until } from "./test-subscriber.ts";

function turnOf(turn: string, deltas: number, text: string): EventDraft[] {
  const start = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
  const b = { turn, run: turn, block: `${turn}/0`, index: 0 };
  return [
    { type: "turn.start", turn, ...start },
    { type: "run.start", turn, run: turn, agent: "a" },
    { type: "text.start", ...b, part: false },
    ...Array.from({ length: deltas }, () => ({ type: "text.delta", ...b, text }) as const),
    { type: "text.end", ...b, final: true },
    { type: "run.end", turn, run: turn, status: "completed" },
    { type: "turn.end", turn, reason: "end_turn", duration_ms: 1 },
  ];
}

function feedsOf(world: Pick<SessionHarness, "backend">, options: { tidyMs?: number } = {}): SessionFeeds {
  return createSessionFeeds({
    ...world.backend,
    ...options,
    limits: { snapshotTurns: 20 },
    createBlobUrlResolver: () => (blob) => blob,
    onError: (error) => {
      throw error;
    },
  });
}

/** CPU time between two turns of the event loop, in milliseconds. */
const MAX_MS = 50;

/**
 * Returns the longest CPU time that this thread used without yielding, in milliseconds, so that other processes don't
 * count.
 * It is the minimum of three runs: the first also compiles, and any may collect garbage, but code that blocks does so
 * every time.
 */
async function measureBlocking(work: () => Promise<void>): Promise<number> {
  let shortest = Infinity;
  for (let n = 0; n < 3 && shortest >= MAX_MS; n++) shortest = Math.min(shortest, await measureOnce(work));
  return shortest;
}

async function measureOnce(work: () => Promise<void>): Promise<number> {
  const seen = { longest: 0, done: false };
  const watching = (async () => {
    let last = process.threadCpuUsage();
    while (!seen.done) {
      await new Promise((resolve) => setImmediate(resolve));
      const { user, system } = process.threadCpuUsage(last);
      last = process.threadCpuUsage();
      seen.longest = Math.max(seen.longest, (user + system) / 1_000);
    }
  })();
  await work();
  seen.done = true;
  await watching;
  return seen.longest;
}

const WAYS = (["native", "blocks", "tasks", "responses"] as const).flatMap((dialect) =>
  (["0-0", null] as const).map((after) => ({ dialect, after })),
);

/** Returns the dialects and cursors that block the event loop for too long. */
async function findBlocking(world: SessionHarness): Promise<string[]> {
  const found: string[] = [];
  const end = world.events.at(-1)?.id;
  for (const { dialect, after } of WAYS) {
    const longest = await measureBlocking(async () => {
      const feeds = feedsOf(world);
      const subscriber = new TestSubscriber(streamFormat(dialect, "sse"), { discardFrames: true });
      subscriber.subscribe(feeds, world.ref, after);
      await until(() => subscriber.subscription?.cursor === end, 20_000);
      subscriber.close();
      await feeds.close();
    });
    if (longest >= MAX_MS) found.push(`${dialect} from ${after}: ${longest} ms`);
  }
  return found;
}

test("a session of 10 MB is replayed and resynced without blocking the event loop for long", async () => {
  const world = await (
    await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() })
  ).start();
  for (let n = 0; n < 40; n++) {
    await world.append(...turnOf(`t${n}`, 50, "x".repeat(5_000)));
    await archiveSession(world.backend, world.ref);
  }
  expect(await findBlocking(world)).toEqual([]);
});

/** Some thousand events. */
async function manyBlocks(blocks: number): Promise<SessionHarness> {
  const world = await (
    await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() })
  ).start();
  const [turn, , ...rest] = turnOf("t", 0, "");
  const ends = rest.slice(-2);
  await world.append(turn as EventDraft, { type: "run.start", turn: "t", run: "t", agent: "a" });
  for (let n = 0; n < blocks; n++) {
    const b = { turn: "t", run: "t", block: `t/${n}`, index: n };
    const text = { type: "text.delta", ...b, text: "x".repeat(100) } as const;
    await world.append({ type: "text.start", ...b, part: true }, text, {
      type: "text.end",
      ...b,
      final: false,
    });
  }
  await world.append(...ends);
  await archiveSession(world.backend, world.ref);
  return world;
}

function createBlobUrlResolver() {
  return (blob: string) => `/${blob}`;
}

test("a turn of many blocks, or one that is only in the archive, doesn't block the event loop", async () => {
  const world = await manyBlocks(2_000);
  expect(await findBlocking(world)).toEqual([]);
  await trimLog(world.backend, world.ref);
  for (const dialect of ["native", "blocks", "tasks", "responses"] as const) {
    let subscriber = new TestSubscriber(streamFormat(dialect, "sse"));
    const longest = await measureBlocking(async () => {
      subscriber = new TestSubscriber(streamFormat(dialect, "sse"));
      const feeds = feedsOf(world);
      const options = { format: streamFormat(dialect, "sse"), after: "0-0", untilTurnEnd: "t" };
      const own = { feeds, slices: createTimeSlicer(), createBlobUrlResolver };
      const parts = { ...world.backend, ...own, onError: fail } as unknown as GatewayContext;
      subscriber.subscription = subscribeToTurn(parts, world.ref, options, subscriber);
      await until(() => subscriber.end !== null, 20_000);
      await feeds.close();
    });
    expect(subscriber.end).toBe("complete");
    expect(subscriber.frames.length, dialect).toBeGreaterThan(2_000);
    expect(longest, `${dialect} from the archive`).toBeLessThan(MAX_MS);
  }
});

test("a shared link to a long session doesn't block the event loop, and has fewer turns", async () => {
  const parts = createMemoryBackend();
  const world = await (await SessionHarness.make(parts)).start();
  for (let n = 0; n < 50; n++) {
    await world.append(...turnOf(`t${n}`, 50, "x".repeat(5_000)));
    await archiveSession(parts, world.ref);
  }
  const server = await openServer(parts, { actor: world.actor });
  const { token } = (await server.request("POST", `/sessions/${world.ref.session}/shares`)).json;
  const sizes = new Set<number>();
  const size = async (path: string): Promise<number> => {
    let bytes = 0;
    const answer = await fetch(`${server.url}/api/v1${path}`, { headers: server.auth });
    for await (const chunk of answer.body ?? []) bytes += chunk.byteLength;
    return bytes;
  };
  for (const path of [`/shares/${token}?limit=50`, `/sessions/${world.ref.session}/snapshot?turns=50`]) {
    const longest = await measureBlocking(async () => void sizes.add(await size(path)));
    expect(longest, path).toBeLessThan(MAX_MS);
  }
  expect(Math.max(...sizes)).toBeLessThan(2_500_000);
  const { snapshot } = (await server.request("GET", `/shares/${token}?limit=50`)).json;
  expect(snapshot.turns.at(-1).id).toBe("t49");
  expect(snapshot.turns.length + snapshot.earlier).toBe(50);
  await server.close();
});

function fail(error: unknown): void {
  throw error;
}

test("an idle session uses little memory", async () => {
  const parts = { log: createMemoryLog(), store: createMemoryStore() };
  const feeds = feedsOf({ backend: parts }, { tidyMs: 50 });
  const subscribers: TestSubscriber[] = [];
  for (let n = 0; n < 100; n++) {
    const world = await (await SessionHarness.make(parts)).start();
    const subscriber = new TestSubscriber(streamFormat("blocks"), { discardFrames: true }).subscribe(
      feeds,
      world.ref,
      null,
    );
    await waitUntilIdle(subscriber);
    await world.append(...turnOf("t", 50, "x".repeat(1_000)));
    subscribers.push(subscriber);
  }
  expect(feeds.stats().sessions).toBe(100);
  expect(feeds.stats().bytes).toBeGreaterThan(100_000);
  await until(() => feeds.stats().bytes === 0);
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  const before = process.memoryUsage().heapUsed;
  await feeds.close();
  for (const subscriber of subscribers.splice(0)) subscriber.close();
  gc();
  // Includes the subscriber of the test and the subscription to the log.
  expect((before - process.memoryUsage().heapUsed) / 100).toBeLessThan(12_000);
});
