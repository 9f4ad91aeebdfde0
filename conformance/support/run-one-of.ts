/**
 * `runOneOf(n)` makes a push run about one of `n` tests of the file that calls it. The seed of the run chooses which, so
 * that all of them run within a few pushes. The others are shown as skipped. With `TURNSTREAM_FULL=1` all run.
 *
 * For tests that repeat others at a higher price: contracts that also run in memory, or many cases of one rule.
 */
import { crc32 } from "node:zlib";
import { beforeEach } from "vitest";
import { FRESH_SEED, isFull } from "./cases.ts";

/** Returns whether this push runs the case with this name. */
export function isChosen(name: string, n: number): boolean {
  return isFull || (crc32(name) + FRESH_SEED) % n === 0;
}

export function runOneOf(n: number): void {
  beforeEach(({ task, skip }) => {
    const name = `${task.suite?.name ?? ""} ${task.name}`;
    skip(!isChosen(name, n), "another push runs it");
  });
}
