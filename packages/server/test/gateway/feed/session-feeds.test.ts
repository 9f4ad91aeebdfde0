/**
 * Tests feeds in memory: starting, resuming and following in each dialect, the end of turns and sessions, and waiting
 * for turns.
 */
import {
  emptyState,
  foldAll,
  restore,
  type SessionEvent,
  fold,
  type SessionState,
  type Snapshot,
} from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { TasksClient } from "@turnstream/conformance/clients/tasks-client.ts";
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { expectSame, framesFrom } from "@turnstream/conformance/support/replay.ts";
import { afterEach, expect, test } from "vitest";
import { createSessionFeeds } from "../../../src/gateway/feed/session-feeds.ts";
import type { SessionFeeds } from "../../../src/gateway/feed/session-feeds.ts";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { createMemoryStore } from "@turnstream/testing";
import { SessionHarness } from "../../session/session-harness.ts";
import { streamFormat, type Frame, waitUntilIdle, TestSubscriber, until } from "../test-subscriber.ts";

const open: SessionFeeds[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((feeds) => feeds.close()));
});

async function stage(): Promise<{ world: SessionHarness; feeds: SessionFeeds }> {
  const world = await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() });
  const feeds = createSessionFeeds({
    ...world.backend,
    limits: { snapshotTurns: 20 },
    createBlobUrlResolver: () => (blob) => `https://blobs.example/${blob}`,
    onError: (error) => {
      throw error;
    },
  });
  open.push(feeds);
  return { world, feeds };
}

/** Two turns, the second still running. */
function talk(): SessionEvent[] {
  const w = new LogWriter().session();
  for (const turn of ["t1", "t2"]) {
    w.add({ type: "message.add", message: `m-${turn}`, text: "Hello" });
    const start = { number: 1, message_number: 1, agent: "main", mode: "agent", from_share: false } as const;
    w.add({ type: "turn.start", turn, message: `m-${turn}`, ...start });
    w.add({ type: "run.start", turn, run: turn, agent: "main" });
    w.add({ type: "text.start", turn, run: turn, block: `${turn}/0`, index: 0, part: false });
    for (let n = 0; n < 20; n++)
      w.add({ type: "text.delta", turn, run: turn, block: `${turn}/0`, index: 0, text: ` word${n}` });
    if (turn === "t2") break;
    w.add({ type: "text.end", turn, run: turn, block: `${turn}/0`, index: 0, final: true });
    w.add({ type: "run.end", turn, run: turn, status: "completed" });
    w.add({ type: "turn.end", turn, reason: "end_turn", duration_ms: 10 });
  }
  return w.events;
}

/** The state that a native client builds from its frames. */
function folded(frames: readonly Frame[], from?: SessionState): SessionState {
  let state = from ?? foldAll([]);
  for (const frame of frames) {
    const { session_id: _, ...rest } = frame;
    if (rest["type"] === "snapshot") state = restore(rest["snapshot"] as Snapshot);
    else if (rest["type"] !== "subscribed") state = fold(state, rest as unknown as SessionEvent);
  }
  return state;
}

test("a new native subscriber receives a snapshot, then every event once", async () => {
  const { world, feeds } = await stage();
  const events = talk();
  await world.write(events.slice(0, 40));
  const subscriber = new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, null);
  await until(() => subscriber.frames.length > 0);
  const head = world.events.at(-1)?.id;
  await world.write(events.slice(40));
  const end = world.events.at(-1)?.id;
  await until(() => subscriber.cursor === end);
  expect(subscriber.starts).toEqual([{ resumed: false, reason: "fresh", head, after: 0 }]);
  expect(subscriber.frames[0]?.["type"]).toBe("snapshot");
  expect(subscriber.frames.every((frame) => frame["session_id"] === world.ref.session)).toBe(true);
  const { at: _, ...rest } = JSON.parse(JSON.stringify(folded(subscriber.frames))) as Record<string, unknown>;
  expect(strip(rest)).toEqual(strip(foldAll(world.events)));
});

test("a new subscriber of responses starts with the running turn, whatever was read before", async () => {
  const { world, feeds } = await stage();
  const events = talk();
  const second = events.findIndex((event) => "turn" in event && event.turn === "t2");
  await world.write(events.slice(0, 12));
  const native = new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, null);
  // The feed then has states of the first turn, and none after it.
  const early = new TestSubscriber(streamFormat("tasks")).subscribe(feeds, world.ref, null);
  await until(() => early.frames.length > 0);
  await waitUntilIdle(early);
  early.close();
  await world.write(events.slice(12, second + 6));
  await until(() => native.cursor === world.events.at(-1)?.id);
  const subscriber = new TestSubscriber(streamFormat("responses", "sse"));
  const options = { format: streamFormat("responses", "sse"), after: null, untilIdle: true };
  subscriber.subscription = feeds.subscribe(world.ref, options, subscriber);
  await until(() => subscriber.frames.length >= 2);
  expect(subscriber.starts).toEqual([{ resumed: false, reason: "fresh", after: 0 }]);
  expect(subscriber.frames).toMatchObject([
    { type: "response.created", response_id: "t2" },
    { type: "response.output_text.delta", delta: " word0 word1 word2" },
  ]);
  expect(subscriber.end).toBeNull();
});

/** The harness records events without their times. */
function strip(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, field: unknown) => (/(^at|_at|duration_ms)$/.test(key) ? 0 : field)),
  );
}

test("resumes directly after any cursor of the log, in each dialect", async () => {
  const { world, feeds } = await stage();
  const events = talk();
  await world.write(events);
  for (const dialect of ["native", "blocks", "tasks", "responses"] as const) {
    const whole = new TestSubscriber(streamFormat(dialect, dialect === "responses" ? "sse" : "socket"));
    whole.subscribe(feeds, world.ref, "0-0");
    await until(() => whole.frames.length > 0);
    await waitUntilIdle(whole);
    for (let k = 0; k < world.events.length; k++) {
      const cursor = world.events[k]?.id ?? "0-0";
      const subscriber = new TestSubscriber(
        streamFormat(dialect, dialect === "responses" ? "sse" : "socket"),
      );
      subscriber.subscribe(feeds, world.ref, cursor);
      await until(() => subscriber.starts.length > 0);
      await waitUntilIdle(subscriber);
      const head = dialect === "native" ? { head: world.events.at(-1)?.id } : {};
      expect(subscriber.starts).toEqual([{ resumed: true, reason: "cursor", ...head, after: 0 }]);
      if (dialect === "blocks") {
        const seen = seenUpTo(world, k);
        const client = new BlocksClient();
        for (const frame of [...seen, ...subscriber.frames]) client.handle(frame);
        const uncut = new BlocksClient();
        for (const frame of whole.frames) uncut.handle(frame);
        expect(client.problems).toEqual([]);
        expectSame(client.display(), uncut.display());
      }
      subscriber.close();
    }
    whole.close();
  }
  expect(new TasksClient().problems).toEqual([]);
});

/** The frames of a connection that was cut at a position. */
function seenUpTo(world: SessionHarness, k: number): Frame[] {
  return framesFrom(blocks, emptyState, world.events.slice(0, k + 1));
}

test("reports an invalid cursor and sends a snapshot", async () => {
  const { world, feeds } = await stage();
  await world.write(talk());
  for (const [cursor, reason] of [
    ["nonsense", "invalid"],
    ["-1-5", "invalid"],
    ["1".repeat(1_000_000), "invalid"],
    ["999999999-3", "invalid"],
    ["1-99999", "invalid"],
  ] as const) {
    const subscriber = new TestSubscriber(streamFormat("native")).subscribe(feeds, world.ref, cursor);
    await until(() => subscriber.frames.length > 0, 30_000);
    const head = world.events.at(-1)?.id;
    expect(subscriber.starts).toEqual([{ resumed: false, reason, head, after: 0 }]);
    expect(subscriber.frames[0]?.["type"]).toBe("snapshot");
    subscriber.close();
  }
});

test("builds one snapshot for all subscribers without a cursor or with an invalid one", async () => {
  const { world, feeds } = await stage();
  await world.start();
  await world.append(...talk());
  for (const dialect of ["native", "blocks"] as const) {
    const given: Uint8Array[] = [];
    const reasons: string[] = [];
    const send = (bytes: Uint8Array) => {
      given.push(bytes);
      return "written" as const;
    };
    const subscriber = {
      sink: { send, end: () => undefined },
      onSubscribed: ({ reason }: { reason: string }) => void reasons.push(reason),
      onEnd: () => undefined,
    };
    const subscriptions = [null, "9-9", "nonsense", "9-9"].map((after) =>
      feeds.subscribe(world.ref, { format: streamFormat(dialect), after }, subscriber),
    );
    await until(() => given.length >= 4);
    expect(reasons.toSorted()).toEqual(["fresh", "invalid", "invalid", "invalid"]);
    expect(new Set(given).size, "the same bytes, not equal ones").toBe(1);
    for (const one of subscriptions) one.onClose();
  }
});

test("a stream of one turn ends after the turn, and erasing the session ends all streams", async () => {
  const { world, feeds } = await stage();
  const events = talk();
  await world.write(events.slice(0, 20));
  const one = new TestSubscriber(streamFormat("responses", "sse")).subscribe(feeds, world.ref, "0-0", "t1");
  const all = new TestSubscriber(streamFormat("blocks")).subscribe(feeds, world.ref, null);
  await until(() => all.starts.length > 0);
  await world.write(events.slice(20));
  await until(() => one.end !== null);
  expect(one.end).toBe("complete");
  expect(one.frames.at(-1)?.["type"]).toBe("[DONE]");
  await world.backend.store.sessions.remove(world.ref);
  await world.backend.log.remove(world.ref);
  await until(() => all.end !== null);
  expect(all.end).toBe("gone");
});

test("finds a turn by its message and waits for its start and end", async () => {
  const { world, feeds } = await stage();
  const events = talk();
  const signal = AbortSignal.timeout(60_000);
  await world.write(events.slice(0, 2));
  const [early, ended] = [
    feeds.waitForTurnStart(world.ref, "m-t1", signal),
    feeds.waitForTurnEnd(world.ref, "t1", signal),
  ];
  await world.write(events.slice(2));
  const late = await feeds.waitForTurnStart(world.ref, "m-t1", signal);
  expect(await early).toEqual(late);
  expect(late).toEqual({ turn: "t1", before: world.events[1]?.id });
  expect((await ended).turn.status).toBe("end_turn");
  await expect(feeds.waitForTurnStart(world.ref, "missing", signal)).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

test("a slow subscriber receives a notice and the current state", async () => {
  const { world, feeds } = await stage();
  const events = talk();
  await world.write(events.slice(0, 10));
  const subscribers = (["native", "blocks", "tasks", "responses"] as const).map((dialect) =>
    new TestSubscriber(streamFormat(dialect, dialect === "responses" ? "sse" : "socket"), {
      maxQueued: 300,
    }).subscribe(feeds, world.ref, "0-0"),
  );
  for (const subscriber of subscribers) await waitUntilIdle(subscriber);
  for (const subscriber of subscribers) subscriber.clog();
  await world.write(events.slice(10));
  // As at the end of every turn, before the next one starts.
  await archiveSession(world.backend, world.ref);
  await until(() => subscribers.every((subscriber) => subscriber.isDropped));
  for (const subscriber of subscribers) subscriber.unclog();
  for (const subscriber of subscribers) await waitUntilIdle(subscriber);
  expect(
    subscribers.map((subscriber) => subscriber.starts.map(({ resumed, reason }) => `${resumed} ${reason}`)),
  ).toEqual([
    ["true cursor", "false slow"],
    ["true cursor", "true slow"],
    ["true cursor", "true slow"],
    ["true cursor", "true slow"],
  ]);
  const [native, second] = subscribers as [TestSubscriber, TestSubscriber];
  expect(strip(folded(native.frames))).toEqual(strip(foldAll(world.events)));
  const whole = new TestSubscriber(streamFormat("blocks")).subscribe(feeds, world.ref, "0-0");
  await waitUntilIdle(whole);
  const [slow, uncut] = [new BlocksClient(), new BlocksClient()];
  for (const frame of second.frames) slow.handle(frame);
  for (const frame of whole.frames) uncut.handle(frame);
  expectSame(slow.display(), uncut.display());
});
