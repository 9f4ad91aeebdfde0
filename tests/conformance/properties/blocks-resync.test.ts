/** Checks that a resync brings a slow client of the `blocks` dialect up to date. */
import { emptyState, type SessionEvent, type SessionState } from "@turnstream/protocol";
import { blocks, eachResyncFrame } from "@turnstream/protocol/blocks";
import { expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { feedBlocks } from "../support/feed-blocks.ts";
import { framesFrom, positionOf, resumeFrames, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/property-runs.ts";

/** Drops the frames after `since`, as for a slow client, and resyncs. */
function fallBehind(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const expectShown = sameAs(
    feedBlocks(new BlocksClient(), framesFrom(blocks, emptyState, events)).display(),
  );
  for (const since of cuts) {
    const k = Math.min(events.length, since + 1 + (since % 40));
    const client = feedBlocks(new BlocksClient(), framesFrom(blocks, emptyState, events.slice(0, since)));
    feedBlocks(client, [...eachResyncFrame(states[k] as SessionState, since)]);
    expect(positionOf(client.cursor)).toBeLessThanOrEqual(k);
    feedBlocks(client, resumeFrames(blocks, states, events, k));
    expect(client.problems).toEqual([]);
    expectShown(client.display());
  }
}

test("at every position of generated logs, a resync brings a slow client up to date", () => {
  atEveryCut(fallBehind);
});

test("the same at three positions of many more logs", () => {
  atThreeCuts(fallBehind);
});
