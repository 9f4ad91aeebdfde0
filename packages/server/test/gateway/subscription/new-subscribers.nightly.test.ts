/**
 * Tests that a new subscriber sees the current session at any moment, whatever is archived and whatever the feed has
 * dropped.
 */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { assertCases, type CaseCounts, totalCases } from "@turnstream/conformance/support/cases.ts";
import { restore, type Snapshot } from "@turnstream/protocol";
import { resolveBlobUrls } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSessionFeeds } from "../../../src/gateway/feed/session-feeds.ts";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { createMemoryStore } from "@turnstream/testing";
import { plain, SessionHarness } from "../../session/session-harness.ts";
import { streamFormat, waitUntilIdle, TestSubscriber, until } from "../test-subscriber.ts";

const CASES: CaseCounts = { push: 20, full: 20 };

test(`in ${totalCases(CASES)} logs archived anywhere, a new subscriber receives a snapshot of everything`, async () => {
  const anyMoves = fc.array(fc.nat(11), { minLength: 6, maxLength: 40 });
  await assertCases(
    fc.asyncProperty(legalLog(80), anyMoves, fc.boolean(), async (events, moves, isQuick) => {
      const world = await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() });
      const feeds = createSessionFeeds({
        ...world.backend,
        limits: { snapshotTurns: 100 },
        idleCleanupMs: isQuick ? 1 : 5_000,
        createBlobUrlResolver: () => (blob) => blob,
        onError: (error) => {
          throw error;
        },
      });
      try {
        await world.write(events.slice(0, 1));
        const staying = new TestSubscriber(streamFormat("blocks"), { discardFrames: true });
        staying.subscribe(feeds, world.ref, null);
        await waitUntilIdle(staying);
        let n = 0;
        await world.write(events.slice(1), async () => {
          const move = moves[n++ % moves.length];
          if (move === 0) await archiveSession(world.backend, world.ref);
          if (move === 1) await trimLog(world.backend, world.ref);
          // Long enough for the feed to drop what it can.
          if (move === 2 && isQuick) await new Promise((resolve) => setTimeout(resolve, 25));
          const isLast = n === events.length - 1;
          if (move !== 3 && !isLast) return;
          if (isLast) await new Promise((resolve) => setTimeout(resolve, 260));
          await waitUntilIdle(staying);
          const own = streamFormat("native", n % 2 === 0 ? "socket" : "sse", true);
          const subscriber = new TestSubscriber(own).subscribe(feeds, world.ref, null);
          await until(() => subscriber.frames.length > 0);
          subscriber.close();
          const shown = restore(subscriber.frames[0]?.["snapshot"] as Snapshot);
          // The subscriber may receive a snapshot that was built for another one shortly before.
          expect(plain(shown)).toEqual(resolveBlobUrls(plain(world.folded(shown.seq)), (blob) => blob));
          if (isLast) expect(shown.seq).toBe(world.events.length);
        });
      } finally {
        await feeds.close();
      }
    }),
    CASES,
    { endOnFailure: true },
  );
});
