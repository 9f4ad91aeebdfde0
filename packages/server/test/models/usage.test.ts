/** Tests how token usage is counted for the protocol. */
import { expect, test } from "vitest";

import { addUsage, NO_USAGE } from "../../src/util/usage.ts";
import { usageOf } from "../../src/models/usage.ts";

const tokens = (input: number | undefined, output: number | undefined) => ({
  inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: output, text: undefined, reasoning: undefined },
});

test("counts the tokens of a call, and missing counts as zero", () => {
  expect(usageOf(tokens(3, 4))).toEqual({ input_tokens: 3, output_tokens: 4, total_tokens: 7, calls: 1 });
  expect(usageOf(tokens(undefined, 4))).toMatchObject({ input_tokens: 0, total_tokens: 4 });
  expect(usageOf(tokens(Number.NaN, -1))).toMatchObject({ input_tokens: 0, output_tokens: 0 });
  expect(usageOf(null)).toEqual({ ...NO_USAGE, calls: 1 });
});

test("adds usage", () => {
  const one = usageOf(tokens(1, 2));
  expect(addUsage(NO_USAGE, one)).toEqual(one);
  expect(addUsage(one, one)).toEqual({ input_tokens: 2, output_tokens: 4, total_tokens: 6, calls: 2 });
});
