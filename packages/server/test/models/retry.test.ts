/** Tests when a model call is retried. */
import fc from "fast-check";
import { expect, test } from "vitest";

import { ModelError } from "../../src/models/errors.ts";
import { retryDelay } from "../../src/models/retry.ts";

const failed = new ModelError("PROVIDER_FAILED");
const limited = (retryAfterMs: number) => new ModelError("RATE_LIMITED", { retryAfterMs });

test("the longest delay doubles with every attempt up to 30 seconds, until the attempts are used up", () => {
  const limits = { maxTries: 8 };
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) =>
    retryDelay({ attempt, error: failed, random: 1, limits }),
  );
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, null]);
  expect(retryDelay({ attempt: 4, error: failed, random: 0.5 })).toBe(4000);
  expect(retryDelay({ attempt: 5, error: failed, random: 0.5 })).toBeNull();
});

test("does not retry an error that is not retryable", () => {
  expect(retryDelay({ attempt: 1, error: new ModelError("REFUSED"), random: 0 })).toBeNull();
});

test("waits as long as the provider asks, unless that is too long", () => {
  expect(retryDelay({ attempt: 1, error: limited(20_000), random: 0 })).toBe(20_000);
  expect(retryDelay({ attempt: 1, error: limited(60_000), random: 0.5 })).toBe(60_500);
  expect(retryDelay({ attempt: 1, error: limited(60_001), random: 0 })).toBeNull();
});

test("waits at least as long as the provider asks and at most as long as the limits allow", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.option(fc.integer({ min: 0, max: 200_000 })),
      (attempt, random, after) => {
        const error = { isRetryable: true, retryAfterMs: after };
        const wait = retryDelay({ attempt, random, error, limits: { maxTries: 5000 } });
        if (wait === null) return after !== null && after > 60_000;
        return (
          Number.isInteger(wait) && wait >= (after ?? 0) && wait <= (after === null ? 30_000 : after + 1000)
        );
      },
    ),
  );
});
