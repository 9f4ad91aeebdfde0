/** Tests what counts as a crash, a hold and a leak of hidden text. */
import { expect, test } from "vitest";
import { type CaseResult, fuzzTarget, type Target } from "./target.ts";

/** A target whose cases have these results in turn, and the last one from then on. */
function targetWith(...results: CaseResult[]): Target {
  const next = async (): Promise<CaseResult> =>
    (results.length > 1 ? results.shift() : results[0]) ?? { usedMs: 0 };
  return { name: "x", about: "x", open: async () => ({ runCase: next, close: async () => {} }) };
}

const fuzzShortly = (...results: CaseResult[]) => fuzzTarget(targetWith(...results), 0, 1);

test("a case that crashes, shows hidden text or is always slow fails the run", async () => {
  expect(await fuzzShortly({ usedMs: 0, crash: "no" })).toMatchObject({ ok: false, cases: 2, crashes: 2 });
  expect(await fuzzShortly({ usedMs: 0, canary: "no" })).toMatchObject({ ok: false, canaries: 2 });
  expect(await fuzzShortly({ usedMs: 100_000 })).toMatchObject({ ok: false, holds: 2 });
});

test("a case that is slow only at first does not fail the run", async () => {
  expect(await fuzzShortly({ usedMs: 100_000 }, { usedMs: 1 })).toMatchObject({ ok: true, holds: 0 });
});
