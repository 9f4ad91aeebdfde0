/** Checks the generator: its logs are valid, and contain enough hard situations for the other properties. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { legalLog } from "../generator/legal-log.ts";
import { shares } from "../generator/statistics.ts";
import { MAX_EVENTS } from "../support/property-runs.ts";

test("generated logs are valid", () => {
  // The writer throws on the first event that breaks a rule.
  fc.assert(
    fc.property(legalLog(MAX_EVENTS, { check: true }), (events) => {
      expect(events.length).toBeLessThanOrEqual(MAX_EVENTS);
    }),
    { seed: 7, numRuns: 300 },
  );
});

test("generated logs contain the hard situations often enough", () => {
  const found = shares(fc.sample(legalLog(MAX_EVENTS), { seed: 11, numRuns: 400 }));
  console.log(`share of generated logs: ${JSON.stringify(found)}`);
  const least: Partial<typeof found> = {
    threeOpen: 0.6,
    nestedRuns: 0.2,
    parallelRuns: 0.3,
    takeover: 0.4,
    stopped: 0.2,
    failed: 0.2,
    latePayment: 0.06,
    severalTurns: 0.4,
    approvalInGroup: 0.08,
    question: 0.08,
    form: 0.08,
    resultsOutOfOrder: 0.25,
  };
  for (const [fact, share] of Object.entries(least)) {
    expect(found[fact as keyof typeof found], fact).toBeGreaterThanOrEqual(share);
  }
});

test("a failing log shrinks to a short one", () => {
  const failure = fc.check(
    fc.property(legalLog(MAX_EVENTS), (events) => !events.some((event) => event.type === "approval.update")),
    { seed: 13, numRuns: 1000 },
  );
  expect(failure.failed).toBe(true);
  expect(failure.counterexample?.[0].length).toBeLessThanOrEqual(20);
});
