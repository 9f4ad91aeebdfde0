/**
 * `runOneOf(n)` makes a push run one of `n` tests of the file that calls it. The seed of the run chooses which, so that
 * all of them run within a few pushes. The others are shown as skipped. With `TURNSTREAM_FULL=1` all run.
 * Invariant: every push runs about the same share of each file. Otherwise some pushes would take much longer than others.
 *
 * For tests that repeat others at a higher price: contracts that also run in memory, or many cases of one rule.
 */
import { crc32 } from "node:zlib";
import { beforeEach } from "vitest";
import { SEED, isFull } from "./cases.ts";

/** Returns whether this push runs the case with this name. */
export function isChosen(name: string, n: number): boolean {
  return isFull || (crc32(name) + SEED) % n === 0;
}

export function runOneOf(n: number): void {
  let next: number | null = null;
  beforeEach(({ task, skip }) => {
    next ??= crc32(task.file.name) + SEED;
    skip(!isFull && next++ % n !== 0, "another push runs it");
  });
}
