/** When a model is asked again. */
import fc from "fast-check";
import { expect, test } from "vitest";

import { ModelError } from "../../src/models/errors.ts";
import { retryDelay } from "../../src/models/retry.ts";

const failed = new ModelError("PROVIDER_FAILED");
const limited = (retryAfterMs: number) => new ModelError("RATE_LIMITED", { retryAfterMs });

test("the longest wait doubles with every try, up to half a minute, and then it is over", () => {
  const limits = { maxTries: 8 };
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) =>
    retryDelay({ attempt, error: failed, random: 1, limits }),
  );
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, null]);
  expect(retryDelay({ attempt: 4, error: failed, random: 0.5 })).toBe(4000);
  expect(retryDelay({ attempt: 5, error: failed, random: 0.5 })).toBeNull();
});

test("what can't get better is not tried again", () => {
  expect(retryDelay({ attempt: 1, error: new ModelError("REFUSED"), random: 0 })).toBeNull();
});

test("as long as the provider asked for, unless that is too long", () => {
  expect(retryDelay({ attempt: 1, error: limited(20_000), random: 0 })).toBe(20_000);
  expect(retryDelay({ attempt: 1, error: limited(60_000), random: 0.5 })).toBe(60_500);
  expect(retryDelay({ attempt: 1, error: limited(60_001), random: 0 })).toBeNull();
});

test("never sooner than asked, never longer than the limits", () => {
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
