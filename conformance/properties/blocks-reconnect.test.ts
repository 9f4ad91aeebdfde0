/** A client of the `blocks` dialect that is cut off between any two frames goes on from its cursor. */
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { atEveryFrame } from "../support/dialect-checks.ts";
import { feedBlocks } from "../support/feed-blocks.ts";
import { framesFrom, positionOf, resumeFrames, sameAs, statesOf } from "../support/replay.ts";
import { atEveryCut, atThreeCuts } from "../support/property-runs.ts";

/** Reconnect without reload: cut between any two frames, go on from the last cursor seen. */
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

test("W01 W03 at every frame of generated logs, a connection that is cut goes on from its cursor without gap or overlap", () => {
  atEveryCut(atEveryFrame(blocks, reconnect));
});

test("W01 W03 the same at three frames of many more logs", () => {
  atThreeCuts(reconnect);
});
