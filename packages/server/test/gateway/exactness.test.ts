/**
 * Tests edge cases of feeds in memory: turns that are not archived or very old, withdrawn messages, and faulty
 * subscribers.
 */
import {
  listBlocks,
  type SessionEvent,
  findTurn,
  restore,
  type Snapshot,
  type Turn,
} from "@turnstream/protocol";
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { expectSame } from "@turnstream/conformance/support/replay.ts";
import { afterEach, expect, test, vi } from "vitest";
import { PromiseCache } from "../../src/util/promise-cache.ts";
import { createSessionFeeds, type SessionFeedsOptions } from "../../src/gateway/feed/session-feeds.ts";
import type { GatewayContext } from "../../src/gateway/context.ts";
import { createTimeSlicer } from "../../src/util/time-slicer.ts";
import { subscribeToTurn } from "../../src/gateway/sse/turn-subscription.ts";
import type { SessionFeeds } from "../../src/gateway/feed/session-feeds.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { archiveSession } from "../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { MAX_TEXT_LENGTH, prependOlderTurns } from "../../src/session/history/turn-pages.ts";
import { createMemoryStore } from "@turnstream/testing";
import { plain, SessionHarness } from "../session/session-harness.ts";
import { streamFormat, waitUntilIdle, TestSubscriber, until } from "./test-subscriber.ts";

const open: SessionFeeds[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((feeds) => feeds.close()));
});

async function stage(
  options: Partial<SessionFeedsOptions> = {},
): Promise<{ world: SessionHarness; feeds: SessionFeeds }> {
  const world = await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() });
  const feeds = createSessionFeeds({
    ...world.backend,
    limits: { snapshotTurns: 20 },
    createBlobUrlResolver: () => (blob) => `https://blobs.example/${blob}`,
    onError: () => undefined,
    ...options,
  });
  open.push(feeds);
  return { world, feeds };
}

function talk(turns: number, deltas = 3): SessionEvent[] {
  const w = new LogWriter().session();
  for (let n = 1; n <= turns; n++) {
    const turn = `t${n}`;
    w.add({ type: "message.add", message: `m-${turn}`, text: "Hello" });
    const start = { number: n, message_number: n, agent: "main", mode: "agent", from_share: false } as const;
    w.add({ type: "turn.start", turn, message: `m-${turn}`, ...start });
    w.add({ type: "run.start", turn, run: turn, agent: "main" });
    w.add({ type: "text.start", turn, run: turn, block: `${turn}/0`, index: 0, part: false });
    for (let word = 0; word < deltas; word++)
      w.add({ type: "text.delta", turn, run: turn, block: `${turn}/0`, index: 0, text: ` word${word}` });
    w.add({ type: "text.end", turn, run: turn, block: `${turn}/0`, index: 0, final: true });
    w.add({ type: "run.end", turn, run: turn, status: "completed" });
    w.add({ type: "turn.end", turn, reason: "end_turn", duration_ms: 10 });
  }
  return w.events;
}

test.for([0, 5])(
  "shows an ended turn that is not archived to a subscriber that comes after an idle time (%i)",
  async (archived) => {
    const { world, feeds } = await stage({ idleCleanupMs: 20 });
    const events = talk(1);
    await world.write(events.slice(0, archived));
    if (archived > 0) await archiveSession(world.backend, world.ref);
    const first = new TestSubscriber(streamFormat("blocks")).subscribe(feeds, world.ref, "0-0");
    await waitUntilIdle(first);
    await world.write(events.slice(archived));
    await waitUntilIdle(first);
    await until(() => feeds.stats().bytes === 0);
    const native = new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, null);
    const blocks = new TestSubscriber(streamFormat("blocks")).subscribe(feeds, world.ref, null);
    await waitUntilIdle(native);
    await waitUntilIdle(blocks);
    const turn = findTurn(restore(native.frames[0]?.["snapshot"] as Snapshot), "t1");
    expect(turn?.status).toBe("end_turn");
    expect(turn === undefined ? 0 : [...listBlocks(turn)].length).toBe(1);
    const [before, after] = [new BlocksClient(), new BlocksClient()];
    for (const frame of first.frames) before.handle(frame);
    for (const frame of blocks.frames) after.handle(frame);
    expectSame(after.display(), before.display());
  },
);

test("finds an old message with its turn, and the turn with its end", async () => {
  const { world, feeds } = await stage();
  await world.write(talk(50, 1));
  await archiveSession(world.backend, world.ref);
  const signal = AbortSignal.timeout(30_000);
  const { turn } = await feeds.waitForTurnStart(world.ref, "m-t2", signal);
  expect(turn).toBe("t2");
  expect((await feeds.waitForTurnEnd(world.ref, "t2", signal)).turn.id).toBe("t2");
});

test("finds the start of a turn that is archived while it is looked for", async () => {
  const { world, feeds } = await stage();
  await world.write(talk(1));
  const { archive } = world.backend.store;
  const before = world.events[1]?.id;
  for (const read of ["events", "header"] as const) {
    const original = archive[read] as (...args: unknown[]) => Promise<unknown>;
    vi.spyOn(archive, read).mockImplementationOnce(async (...args: unknown[]) => {
      const found = await original(...args);
      await archiveSession(world.backend, world.ref);
      return found as never;
    });
  }
  const started = await feeds.waitForTurnStart(world.ref, "m-t1", AbortSignal.timeout(30_000));
  expect(started).toEqual({ turn: "t1", before });
});

test("does not wait for a message that was withdrawn before", async () => {
  const { world, feeds } = await stage();
  await world.write(talk(1));
  await world.append({ type: "message.add", message: "m-x", text: "No" });
  await world.append({ type: "message.remove", message: "m-x" });
  await expect(feeds.waitForTurnStart(world.ref, "m-x", AbortSignal.timeout(30_000))).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

test("a subscriber that throws does not affect the others", async () => {
  const { world, feeds } = await stage();
  const events = talk(1);
  await world.write(events.slice(0, 4));
  const good = new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, "0-0");
  const make = (on: "subscribed" | "send" | "ended"): { calls: number } => {
    const seen = { calls: 0 };
    const boom = (which: string): void => {
      if (which !== on) return;
      seen.calls += 1;
      throw new Error("boom");
    };
    let sends = 0;
    feeds.subscribe(
      world.ref,
      { format: streamFormat("native"), after: "0-0", ...(on === "ended" ? { untilTurnEnd: "t1" } : {}) },
      {
        sink: {
          send: () => {
            if (++sends > 1) boom("send");
            return "written";
          },
          end: () => undefined,
        },
        onSubscribed: () => boom("subscribed"),
        onEnd: () => boom("ended"),
      },
    );
    return seen;
  };
  const bad = [make("subscribed"), make("send"), make("ended")];
  await waitUntilIdle(good);
  await world.write(events.slice(4));
  await waitUntilIdle(good);
  expect(bad.map(({ calls }) => calls)).toEqual([1, 1, 1]);
  expect(good.end).toBeNull();
  expect(good.cursor).toBe(world.events.at(-1)?.id);
});

test("a subscriber that closes in onSubscribed receives no frames", async () => {
  const { world, feeds } = await stage();
  await world.write(talk(1));
  let sends = 0;
  const subscription = feeds.subscribe(
    world.ref,
    { format: streamFormat("native"), after: null },
    {
      sink: { send: () => (sends++, "written"), end: () => undefined },
      onSubscribed: () => subscription.onClose(),
      onEnd: () => undefined,
    },
  );
  await waitUntilIdle(new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, null));
  expect(sends).toBe(0);
});

test("a slow subscriber of blocks starts fresh if what it missed is in turns that a snapshot leaves out", async () => {
  const { world, feeds } = await stage({ limits: { snapshotTurns: 2 }, idleCleanupMs: 20 });
  const events = talk(6);
  await world.write(events.slice(0, 4));
  const slow = new TestSubscriber(streamFormat("blocks"), { maxQueued: 300 });
  slow.subscribe(feeds, world.ref, "0-0");
  await waitUntilIdle(slow);
  slow.clog();
  await world.write(events.slice(4));
  await archiveSession(world.backend, world.ref);
  await until(() => slow.isDropped);
  // Wait until the feed has dropped its entries.
  await until(() => feeds.stats().bytes === 0);
  slow.unclog();
  await waitUntilIdle(slow);
  expect(slow.starts.at(-1)).toMatchObject({ resumed: false, reason: "slow" });
});

test("a slow subscriber of one turn receives its end although its position was trimmed", async () => {
  const { world, feeds } = await stage({ idleCleanupMs: 20 });
  const events = talk(1, 30);
  await world.write(events.slice(0, 10));
  const subscriber = new TestSubscriber(streamFormat("responses", "sse"), { maxQueued: 300 });
  const parts = {
    ...world.backend,
    feeds,
    slices: createTimeSlicer(),
    createBlobUrlResolver,
    onError: fail,
  };
  const options = { format: streamFormat("responses", "sse"), after: "0-0", untilTurnEnd: "t1" };
  subscriber.subscription = subscribeToTurn(
    parts as unknown as GatewayContext,
    world.ref,
    options,
    subscriber,
  );
  await waitUntilIdle(subscriber);
  subscriber.clog();
  await world.write(events.slice(10));
  await archiveSession(world.backend, world.ref);
  await trimLog(world.backend, world.ref);
  await until(() => subscriber.isDropped);
  // Wait until the feed has dropped its entries of the turn.
  await until(() => feeds.stats().bytes === 0);
  subscriber.unclog();
  await until(() => subscriber.end !== null, 30_000);
  expect(subscriber.starts.map(({ reason }) => reason)).toEqual(["cursor", "slow"]);
  expect(subscriber.end).toBe("complete");
  expect(subscriber.frames.at(-1)?.["type"]).toBe("[DONE]");
});

test("a turn from the archive waits for a slow client and is complete", async () => {
  const { world, feeds } = await stage();
  const events = talk(1);
  await world.write(events.slice(0, 3));
  for (let n = 0; n < 300; n++) {
    const b = { turn: "t1", run: "t1", block: `t1/${n}`, index: n };
    await world.append(
      { type: "text.start", ...b, part: true },
      { type: "text.delta", ...b, text: "x".repeat(1_000) },
      { type: "text.end", ...b, final: false },
    );
  }
  await world.write(events.slice(-2));
  await archiveSession(world.backend, world.ref);
  await trimLog(world.backend, world.ref);
  const own = { feeds, slices: createTimeSlicer(), createBlobUrlResolver };
  const parts = { ...world.backend, ...own, onError: fail } as unknown as GatewayContext;
  const read = async (isSlow: boolean): Promise<readonly unknown[]> => {
    const subscriber = new TestSubscriber(streamFormat("blocks", "sse"), { maxQueued: 20_000 });
    if (isSlow) subscriber.clog();
    const options = { format: streamFormat("blocks", "sse"), after: "0-0", untilTurnEnd: "t1" };
    subscriber.subscription = subscribeToTurn(parts, world.ref, options, subscriber);
    await until(() => {
      const { length } = subscriber.sends;
      // Whenever frames are queued, the client reads them and nothing more.
      if (isSlow && length > 0) subscriber.unclog();
      if (isSlow) subscriber.clog();
      return subscriber.end !== null;
    });
    subscriber.unclog();
    expect(subscriber.end).toBe("complete");
    expect(subscriber.starts).toHaveLength(1);
    return subscriber.frames;
  };
  expect(await read(true)).toEqual(await read(false));
});

function createBlobUrlResolver() {
  return (blob: string) => `/${blob}`;
}

function fail(error: unknown): void {
  throw error;
}

test("shows the result of a form to a subscriber that comes after the next turn started, archived or not", async () => {
  const { world, feeds } = await stage();
  const on = { turn: "t1", run: "t1", block: "t1/1", index: 1 } as const;
  const events = talk(2);
  const end = events.findIndex(({ type }) => type === "run.end");
  const next = events.findIndex((event) => event.type === "message.add" && event.message === "m-t2");
  await world.write(events.slice(0, end));
  const schema = { id: "f", title: "Boat", fields: [] };
  await world.append({ type: "form.request", ...on, form: "f", schema });
  await world.write(events.slice(end, next));
  await archiveSession(world.backend, world.ref);
  const first = new TestSubscriber(streamFormat("blocks")).subscribe(feeds, world.ref, "0-0");
  await waitUntilIdle(first);
  const change = { version: 1, status: "submitted", values: {} } as const;
  await world.append({ type: "form.update", ...on, ...change });
  await world.write(events.slice(next, next + 4));
  await waitUntilIdle(first);
  const late = new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, null);
  await waitUntilIdle(late);
  const shown = restore(late.frames[0]?.["snapshot"] as Snapshot);
  expect(plain(shown)).toEqual(plain(world.folded()));
  expect([...listBlocks(findTurn(shown, "t1") as Turn)].length).toBe(2);
});

test("a turn without text leaves no gap before a long one", async () => {
  const { world } = await stage();
  const events = talk(3).filter(
    (event) => !("turn" in event && event.turn === "t2" && event.type.startsWith("text")),
  );
  await world.write(events);
  const { backend, ref } = world;
  for (const maxLength of [MAX_TEXT_LENGTH, 1]) {
    const shown = await prependOlderTurns(backend, ref, world.folded(), { turns: 20, maxLength });
    const ids = shown.turns.toArray().map(({ id }) => id);
    expect(ids).toEqual(["t1", "t2", "t3"].slice(-ids.length));
    expect(shown.earlier).toBe(3 - ids.length);
  }
});

test("a turn that was archived while it ran and ended without text is shown as ended", async () => {
  const { world, feeds } = await stage();
  const events = talk(2).filter(
    (event) => !("turn" in event && event.turn === "t1" && event.type.startsWith("text")),
  );
  const end = events.findIndex(({ type }) => type === "run.end");
  await world.write(events.slice(0, end));
  await archiveSession(world.backend, world.ref);
  await world.write(events.slice(end));
  const late = new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, null);
  await waitUntilIdle(late);
  expect(plain(restore(late.frames[0]?.["snapshot"] as Snapshot))).toEqual(plain(world.folded()));
});

test("F07: a turn that was left running ends for `responses` too when another starts", async () => {
  const { world, feeds } = await stage();
  const [first, second, third] = [talk(1), talk(2), talk(3)].map((all) =>
    all.filter((event) => event.type !== "run.end"),
  );
  const turns = [first, second?.slice(first?.length), third?.slice(second?.length)];
  await world.write(turns[0] ?? []);
  const subscriber = new TestSubscriber(streamFormat("responses", "sse")).subscribe(feeds, world.ref, "0-0");
  await waitUntilIdle(subscriber);
  await world.write((turns[1] ?? []).filter(({ type }) => type !== "turn.end"));
  await world.write((turns[2] ?? []).slice(0, 2));
  await until(() => subscriber.cursor === world.events.at(-1)?.id);
  const ends = subscriber.frames.flatMap(({ type }) =>
    type === "response.created" || type === "[DONE]" ? [type] : [],
  );
  expect(ends).toEqual(["response.created", "[DONE]", "response.created", "[DONE]", "response.created"]);
});

test("drops pages that are too old to be shared", async () => {
  const pages = new PromiseCache<string>(250);
  await pages.get("a", 0, async () => "first");
  await pages.get("b", 200, async () => "second");
  pages.expire(260);
  expect(pages.size).toBe(1);
  expect(await pages.get("b", 300, async () => "third")).toBe("second");
});
