/** What a decoder of the `blocks` dialect writes is a legal log. */
import { blocks } from "@turnstream/protocol/blocks";
import { test } from "vitest";
import { decodesLegally } from "../support/dialect-checks.ts";
import { atEveryCut } from "../support/property-runs.ts";

test("decoded logs are legal", () => {
  // When a server tells a turn again, what people were asked is void too and asked again, and a payment is told
  // as it is now, without the states it went through.
  atEveryCut(decodesLegally(blocks, ({ type }) => type === "turn.takeover" || type === "payment.update"));
});
