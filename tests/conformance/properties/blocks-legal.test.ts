/** Checks that a decoder of the `blocks` dialect writes a valid log. */
import { blocks } from "../support/codecs.ts";
import { test } from "vitest";
import { decodesLegally } from "../support/dialect-checks.ts";
import { atEveryCut } from "../support/property-runs.ts";

test("decoded logs are valid", () => {
  // When a server repeats a turn, its interactions are superseded and requested again. A payment is sent in its current
  // state, without the states before it.
  atEveryCut(decodesLegally(blocks, ({ type }) => type === "turn.takeover" || type === "payment.update"));
});
