/**
 * How much the properties try, and from which seed. Other choices, while working on something:
 * `TURNSTREAM_SEED=123 TURNSTREAM_LOGS=50 npm test` takes another seed and at most 50 logs a property.
 */
import fc from "fast-check";
import type { Event } from "@turnstream/protocol";
import { legalLog } from "../generator/legal-log.ts";

export const MAX_EVENTS = 150;
/** Logs that are cut at every position, and logs that are cut at three. */
const EVERY_CUT = 500;
const THREE_CUTS = 10_000;

const seed = Number(process.env["TURNSTREAM_SEED"] ?? 20_261_115);

const mostLogs = Number(process.env["TURNSTREAM_LOGS"] ?? Infinity);

/** Runs a check on generated logs with the positions to cut at, first kind. */
export function atEveryCut(check: (events: Event[], cuts: number[]) => void, runs = EVERY_CUT): void {
  const property = fc.property(legalLog(MAX_EVENTS), (events) => {
    check(
      events,
      Array.from({ length: events.length + 1 }, (_, k) => k),
    );
  });
  fc.assert(property, { seed, numRuns: Math.min(runs, mostLogs) });
}

/** The same, at three random positions of many logs. */
export function atThreeCuts(check: (events: Event[], cuts: number[]) => void, runs = THREE_CUTS): void {
  const cuts = fc.array(fc.nat(MAX_EVENTS), { minLength: 3, maxLength: 3 });
  const property = fc.property(legalLog(MAX_EVENTS), cuts, (events, at) => {
    check(
      events,
      at.map((k) => k % (events.length + 1)),
    );
  });
  fc.assert(property, { seed: seed + 1, numRuns: Math.min(runs, mostLogs) });
}
