/**
 * How much the properties try, and from which seed. Other choices, while working on something:
 * `TURNSTREAM_SEED=123 TURNSTREAM_LOGS=50 npm test` takes another seed and at most 50 logs a property.
 */
import fc from "fast-check";
import type { SessionEvent } from "@turnstream/protocol";
import { legalLog } from "../generator/legal-log.ts";

export const MAX_EVENTS = 150;
/** Logs that are cut at every position, and logs that are cut at three. */
const EVERY_CUT = 500;
const THREE_CUTS = 10_000;

const seed = Number(process.env["TURNSTREAM_SEED"] ?? 20_261_115);

const mostLogs = Number(process.env["TURNSTREAM_LOGS"] ?? Infinity);

/** How many logs of each kind are kept: to make one takes about as long as to check it. */
const KEPT = 2_000;

type Check = (events: SessionEvent[], cuts: number[]) => void;

/** Tries checks on the same generated things, one check after the other. */
function trier<T>(things: fc.Arbitrary<T>, from: number): (check: (thing: T) => void, runs: number) => void {
  let kept: T[] = [];
  return (check, runs) => {
    const numRuns = Math.min(runs, mostLogs);
    let failure: unknown;
    if (kept.length >= numRuns) {
      try {
        for (const thing of kept.slice(0, numRuns)) check(thing);
        return;
      } catch (error) {
        // It is found again below, and made small.
        failure = error;
      }
    }
    const tried: T[] = [];
    const property = fc.property(things, (thing) => {
      if (tried.length < KEPT) tried.push(thing);
      check(thing);
    });
    fc.assert(property, { seed: from, numRuns });
    if (failure !== undefined) throw failure;
    kept = tried;
  };
}

const onLogs = trier(legalLog(MAX_EVENTS), seed);
const threePlaces = fc.array(fc.nat(MAX_EVENTS), { minLength: 3, maxLength: 3 });
const onCutLogs = trier(fc.tuple(legalLog(MAX_EVENTS), threePlaces), seed + 1);

/** Runs a check on generated logs with the positions to cut at, first kind. */
export function atEveryCut(check: Check, runs = EVERY_CUT): void {
  onLogs((events) => {
    check(
      events,
      Array.from({ length: events.length + 1 }, (_, k) => k),
    );
  }, runs);
}

/** The same, at three random positions of many logs. */
export function atThreeCuts(check: Check, runs = THREE_CUTS): void {
  onCutLogs(([events, at]) => {
    check(
      events,
      at.map((k) => k % (events.length + 1)),
    );
  }, runs);
}
