/** Checks that a client of the `blocks` dialect continues from its cursor after a cut between any two frames. */
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { atEveryFrame } from "../support/dialect-checks.ts";
import { feedBlocks } from "../support/feed-blocks.ts";
import { framesFrom, positionOf, resumeFrames, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/property-runs.ts";

/** Reconnects without a reload: cuts between two frames and resumes from the last cursor. */
function reconnect(events: SessionEvent[], cuts: number[]): void {
  const states = statesOf(events);
  const frames = framesFrom(blocks, emptyState, events);
  const expectShown = sameAs(feedBlocks(new BlocksClient(), frames).display());
  for (const cut of cuts) {
    const client = feedBlocks(new BlocksClient(), frames.slice(0, cut));
    feedBlocks(client, resumeFrames(blocks, states, events, positionOf(client.cursor)));
    expect(client.problems).toEqual([]);
    expectShown(client.display());
  }
}

test("W01 W03 at every frame of generated logs, a reconnecting client continues from its cursor without gap or overlap", () => {
  atEveryCut(atEveryFrame(blocks, reconnect));
});

test("W01 W03 the same at three frames of many more logs", () => {
  atThreeCuts(reconnect);
});
