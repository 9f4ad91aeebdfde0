/** `atEveryCut` and `atThreeCuts` run checks on generated logs, cut at all or at three positions. Seeds: cases.ts. */
import { crc32 } from "node:zlib";
import type { SessionEvent } from "@turnstream/protocol";
import fc from "fast-check";
import { expect } from "vitest";
import { legalLog } from "../generator/legal-log.ts";
import { type CaseCounts, SEED, totalCases } from "./cases.ts";

export const MAX_EVENTS = 150;
/** Counts for logs that are cut at every position. Each check tries logs of its own. */
export const EVERY_CUT: CaseCounts = { push: 10, full: 500 };
/** Counts for logs that are cut at three positions. Each check tries logs of its own. */
const THREE_CUTS: CaseCounts = { push: 80, full: 10_000 };

/** Counts for a property with a smaller full size. */
export function partOf(full: number): CaseCounts {
  return { push: full * 0.06, full };
}

type Check = (events: SessionEvent[], cuts: number[]) => void;

/** Adds a number that depends on the running test, so that each test tries other logs. */
function seedOfTest(): number {
  const name = expect.getState().currentTestName ?? "";
  return (SEED + crc32(name)) % 2 ** 31;
}

function tryCases<T>(values: fc.Arbitrary<T>, check: (value: T) => void, counts: CaseCounts): void {
  fc.assert(fc.property(values, check), { seed: seedOfTest(), numRuns: totalCases(counts) });
}

const logs = legalLog(MAX_EVENTS);
const threePlaces = fc.array(fc.nat(MAX_EVENTS), { minLength: 3, maxLength: 3 });

/** Runs a check on generated logs with every position as a cut. */
export function atEveryCut(check: Check, counts = EVERY_CUT): void {
  const checkLog = (events: SessionEvent[]) =>
    check(
      events,
      Array.from({ length: events.length + 1 }, (_, k) => k),
    );
  tryCases(logs, checkLog, counts);
}

/** Runs a check at three random positions of many logs. */
export function atThreeCuts(check: Check, counts = THREE_CUTS): void {
  const checkLog = ([events, at]: [SessionEvent[], number[]]) =>
    check(
      events,
      at.map((k) => k % (events.length + 1)),
    );
  tryCases(fc.tuple(logs, threePlaces), checkLog, counts);
}
