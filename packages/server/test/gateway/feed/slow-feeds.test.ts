/** Tests that a subscriber that can't keep up shows the same in the end as one that could, in each dialect. */
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { TasksClient } from "@turnstream/conformance/clients/tasks-client.ts";
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import {
  assertCases,
  type CaseCounts,
  leastSeen,
  totalCases,
} from "@turnstream/conformance/support/cases.ts";
import { responses } from "@turnstream/conformance/support/codecs.ts";
import { decodeAll, expectSame } from "@turnstream/conformance/support/replay.ts";
import { emptyState, type SessionEvent, fold, restore, type Snapshot, snapshot } from "@turnstream/protocol";
import type { ResponsesFrame } from "@turnstream/protocol/responses";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSessionFeeds } from "../../../src/gateway/feed/session-feeds.ts";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { SessionHarness } from "../../session/session-harness.ts";
import { streamFormat, type Frame, waitUntilIdle, TestSubscriber } from "../test-subscriber.ts";

const CASES: CaseCounts = { push: 40, full: 40 };
const LOGS = totalCases(CASES);

/** The state that each client builds from its frames. It clears everything on a restart. */
const DISPLAYS = {
  native: (subscriber: TestSubscriber) => {
    let state = emptyState;
    for (const { session_id: _, ...frame } of subscriber.frames)
      state =
        frame["type"] === "snapshot"
          ? restore(frame["snapshot"] as Snapshot)
          : fold(state, frame as unknown as SessionEvent);
    return snapshot(state);
  },
  blocks: (subscriber: TestSubscriber) => {
    const client = new BlocksClient();
    for (const frame of framesAfterReset(subscriber)) client.handle(frame);
    return client.display();
  },
  tasks: (subscriber: TestSubscriber) => {
    const client = new TasksClient();
    for (const frame of framesAfterReset(subscriber)) client.handle(frame);
    expect(client.problems).toEqual([]);
    return client.display();
  },
  responses: (subscriber: TestSubscriber) => {
    const { decoder } = decodeAll(responses, framesAfterReset(subscriber) as unknown as ResponsesFrame[]);
    const { turns } = snapshot(decoder.state);
    return turns.map(({ id, status, items }) => ({
      id,
      status,
      text: items.map((item) => (item?.kind === "text" ? item.text : "")).join(""),
      calls: items.flatMap((item) => (item?.kind === "tool_call" ? [item.call] : [])),
    }));
  },
};

/** The frames after the last restart. */
function framesAfterReset({ frames, starts }: TestSubscriber): Frame[] {
  return frames.slice(starts.findLast((one) => !one.resumed)?.after ?? 0);
}

test(`W16 in ${LOGS} logs, a slow client of each dialect shows the same as a fast one`, async () => {
  const seen = { slow: 0 };
  await assertCases(
    fc.asyncProperty(legalLog(80), fc.array(fc.nat(5), { minLength: 6 }), async (events, moves) => {
      const world = await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() });
      const feeds = createSessionFeeds({
        ...world.backend,
        limits: { snapshotTurns: 20 },
        createBlobUrlResolver: () => (blob) => blob,
        onError: (error) => {
          throw error;
        },
      });
      const pairs = (["native", "blocks", "tasks", "responses"] as const).map((dialect) => {
        const of = streamFormat(dialect, dialect === "responses" ? "sse" : "socket");
        const [slow, quick] = [new TestSubscriber(of, { maxQueued: 900 }), new TestSubscriber(of)];
        for (const subscriber of [slow, quick]) subscriber.subscribe(feeds, world.ref, "0-0");
        return { dialect, slow, quick };
      });
      let n = 0;
      await world.write(events, async () => {
        const move = moves[n++ % moves.length] ?? 0;
        const { slow } = pairs[n % pairs.length] as (typeof pairs)[number];
        if (move === 1 || move === 2) slow.clog();
        if (move === 3) slow.unclog();
        if (move === 4) await new Promise((resolve) => setImmediate(resolve));
      });
      for (const { slow } of pairs) slow.unclog();
      for (const { slow, quick } of pairs) await Promise.all([waitUntilIdle(slow), waitUntilIdle(quick)]);
      for (const { dialect, slow, quick } of pairs) {
        seen.slow += slow.starts.filter(({ reason }) => reason === "slow").length;
        expectSame(sorted(DISPLAYS[dialect](slow)), sorted(DISPLAYS[dialect](quick)));
      }
      await feeds.close();
    }),
    CASES,
  );
  expect(seen.slow).toBeGreaterThan(leastSeen(0.25, CASES));
});

function sorted(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, field: unknown) =>
      typeof field === "object" && field !== null && !Array.isArray(field)
        ? Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : field,
    ),
  );
}
