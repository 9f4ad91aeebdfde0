/**
 * Checks that everything that the `blocks` dialect carries survives encode and decode, wherever the connection is cut.
 */
import { blocks } from "../support/codecs.ts";
import { test } from "vitest";
import { roundTrip } from "../support/dialect-checks.ts";
import { eraseForBlocks } from "../support/dialect-losses.ts";
import { atEveryCut, atThreeCuts } from "../support/property-runs.ts";

const encodeAndDecode = roundTrip(blocks, eraseForBlocks);

test("H03 at every frame of generated logs, everything that the blocks dialect carries survives encode and decode", () => {
  atEveryCut(encodeAndDecode);
});

test("H03 the same at three frames of many more logs", () => {
  atThreeCuts(encodeAndDecode);
});
