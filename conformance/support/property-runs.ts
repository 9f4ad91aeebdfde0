/** `atEveryCut` and `atThreeCuts` run checks on generated logs, cut at all or at three positions. Seeds: cases.ts. */
import type { SessionEvent } from "@turnstream/protocol";
import fc from "fast-check";
import { legalLog } from "../generator/legal-log.ts";
import { batchesOf, type Batch, type CaseCounts } from "./cases.ts";

export const MAX_EVENTS = 150;
/** Counts for logs that are cut at every position. Ten runs try 550 of them. */
export const EVERY_CUT: CaseCounts = { fixed: 50, fresh: 50, full: 500 };
/** Counts for logs that are cut at three positions. Ten runs try 10,100 of them. */
const THREE_CUTS: CaseCounts = { fixed: 100, fresh: 1_000, full: 10_000 };

/** Counts for a property with a smaller full size. Ten runs try slightly more than the full size. */
export function tenthOf(full: number): CaseCounts {
  return { fixed: full / 20, fresh: full / 10, full };
}

/** How many logs of each kind are cached for the next check. Generating a log takes about as long as checking it. */
const MAX_CACHED = 2_000;

type Check = (events: SessionEvent[], cuts: number[]) => void;

/**
 * Runs checks on the same generated values, one check after the other.
 * @param offset is added to the seeds, so that two triers use different logs
 */
function trier<T>(
  values: fc.Arbitrary<T>,
  offset: number,
): (check: (value: T) => void, counts: CaseCounts) => void {
  const cachedBySeed = new Map<number, T[]>();
  const tryBatch = (check: (value: T) => void, { seed, runs }: Batch): void => {
    const cached = cachedBySeed.get(seed) ?? [];
    let failure: unknown;
    if (cached.length >= runs) {
      try {
        for (const value of cached.slice(0, runs)) check(value);
        return;
      } catch (error) {
        // fast-check finds the case again below and shrinks it.
        failure = error;
      }
    }
    const tried: T[] = [];
    const property = fc.property(values, (value) => {
      if (tried.length < MAX_CACHED) tried.push(value);
      check(value);
    });
    fc.assert(property, { seed: seed + offset, numRuns: runs });
    if (failure !== undefined) throw failure;
    cachedBySeed.set(seed, tried);
  };
  return (check, counts) => {
    for (const batch of batchesOf(counts)) tryBatch(check, batch);
  };
}

const onLogs = trier(legalLog(MAX_EVENTS), 0);
const threePlaces = fc.array(fc.nat(MAX_EVENTS), { minLength: 3, maxLength: 3 });
const onCutLogs = trier(fc.tuple(legalLog(MAX_EVENTS), threePlaces), 1);

/** Runs a check on generated logs with every position as a cut. */
export function atEveryCut(check: Check, counts = EVERY_CUT): void {
  onLogs((events) => {
    check(
      events,
      Array.from({ length: events.length + 1 }, (_, k) => k),
    );
  }, counts);
}

/** Runs a check at three random positions of many logs. */
export function atThreeCuts(check: Check, counts = THREE_CUTS): void {
  onCutLogs(([events, at]) => {
    check(
      events,
      at.map((k) => k % (events.length + 1)),
    );
  }, counts);
}
