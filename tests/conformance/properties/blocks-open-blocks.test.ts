/** Checks that a turn that ends with open blocks leaves no block in progress for clients of the `blocks` dialect. */
import { emptyState } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { crashed } from "../support/crash.ts";
import { feedBlocks } from "../support/feed-blocks.ts";
import { framesFrom } from "../support/replay.ts";
import { atThreeCuts, partOf } from "../support/property-runs.ts";

test("W02 a turn that ends with open blocks leaves no block in progress for the client", () => {
  atThreeCuts((events, cuts) => {
    for (const k of cuts) {
      const client = feedBlocks(
        new BlocksClient(),
        framesFrom(blocks, emptyState, crashed(events.slice(0, k))),
      );
      expect(client.problems).toEqual([]);
      expect(Object.values(client.display()).flatMap((message) => message.half)).toEqual([]);
    }
  }, partOf(2_000));
});
