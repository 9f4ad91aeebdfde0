/** What feeds cost others: long replays leave the event loop to everybody else, and an idle session holds next to nothing. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { EventDraft } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { createFeeds } from "../../src/gateway/open-feeds.ts";
import type { Feeds } from "../../src/gateway/feeds.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { archiveSession } from "../../src/session/archive.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { World } from "../session/world.ts";
import { choice, settled, TestViewer, until } from "./test-viewer.ts";

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

function feedsOf(world: Pick<World, "parts">, options: { tidyMs?: number } = {}): Feeds {
  return createFeeds({
    ...world.parts,
    ...options,
    limits: { turns: 20 },
    addressesOf: () => (blob) => blob,
    onError: (error) => {
      throw error;
    },
  });
}

/** How long the event loop was held in one go at most, and how long it took in all, in milliseconds. */
async function held(work: () => Promise<void>): Promise<{ longest: number; total: number }> {
  const seen = { longest: 0, done: false };
  const began = performance.now();
  let last = began;
  const watching = (async () => {
    while (!seen.done) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = performance.now();
      seen.longest = Math.max(seen.longest, now - last);
      last = now;
    }
  })();
  await work();
  seen.done = true;
  await watching;
  return { longest: seen.longest, total: performance.now() - began };
}

test("a session of 10 MB is replayed, and shown anew, without holding the event loop for long", async () => {
  const world = await (await World.make({ log: createMemoryLog(), store: memoryStore() })).start();
  for (let n = 0; n < 40; n++) {
    await world.append(...turnOf(`t${n}`, 50, "x".repeat(5_000)));
    await archiveSession(world.parts, world.ref);
  }
  const feeds = feedsOf(world);
  const end = world.events.at(-1)?.id;
  for (const [dialect, after] of [
    ["native", "0-0"],
    ["native", null],
    ["blocks", null],
    ["blocks", "0-0"],
  ] as const) {
    const viewer = new TestViewer(choice(dialect), { keepsNothing: true });
    const { longest, total } = await held(async () => {
      viewer.watch(feeds, world.ref, after);
      await until(() => viewer.subscription?.position === end, 20_000);
    });
    // Half of it is the test's own machine being busy with others.
    expect(longest, `${dialect} from ${after}: ${longest} of ${total} ms`).toBeLessThan(
      Math.max(50, total / 4),
    );
    viewer.close();
  }
  await feeds.close();
});

test("an idle session holds next to nothing", async () => {
  const parts = { log: createMemoryLog(), store: memoryStore() };
  const feeds = feedsOf({ parts }, { tidyMs: 50 });
  const viewers: TestViewer[] = [];
  for (let n = 0; n < 100; n++) {
    const world = await (await World.make(parts)).start();
    const viewer = new TestViewer(choice("blocks"), { keepsNothing: true }).watch(feeds, world.ref, null);
    await settled(viewer);
    await world.append(...turnOf("t", 50, "x".repeat(1_000)));
    viewers.push(viewer);
  }
  expect(feeds.size().sessions).toBe(100);
  expect(feeds.size().bytes).toBeGreaterThan(100_000);
  await until(() => feeds.size().bytes === 0);
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  const before = process.memoryUsage().heapUsed;
  await feeds.close();
  for (const viewer of viewers.splice(0)) viewer.close();
  gc();
  // With the viewer of the test and the subscription to the log.
  expect((before - process.memoryUsage().heapUsed) / 100).toBeLessThan(12_000);
});
