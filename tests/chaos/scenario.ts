/**
 * `Scenario` is one kind of fault that is injected many times into real servers under load, and the figures that
 * docs/reliability.md promises. `isMet` judges a figure. Does not run scenarios.
 */

import type { Operation } from "@turnstream/testkit/history/check-history.ts";
import type { Random } from "@turnstream/testkit/util/seeded-random.ts";

/**
 * A notification that has not arrived after this time counts as missing. A separate figure judges whether it was fast
 * enough.
 */
export const NEVER_MS = 30_000;

export interface Scenario {
  /** The number of the promise in docs/reliability.md that it tests. */
  readonly promise: number;
  readonly about: string;
  /** How many times a full run injects the fault. */
  readonly times: number;
  /** How many times the short form at night does. @default 10 */
  readonly short?: number;
  /** If true, `npm run chaos` runs it in a network namespace of its own, where the system allows it. @default false */
  readonly usesNamespaces?: boolean;
  run(options: RunOptions): Promise<Figure[]>;
}

export interface RunOptions {
  readonly times: number;
  /** If true, the turns and outages are shorter than in a full run. @default false */
  readonly isShort?: boolean;
  /** Random numbers between 0 and 1 from a seed, so that a run can be repeated. */
  readonly random: Random;
  /** Prints how far the run is. */
  readonly progress: (text: string) => void;
  /** Receives the history of each round, in scenarios that record one. Default: ignored. */
  readonly record?: (history: readonly Operation[]) => void;
}

/** A measured count or time, and its bounds. */
export interface Figure {
  readonly figure: string;
  readonly value: number;
  readonly exactly?: number;
  readonly atMost?: number;
  readonly atLeast?: number;
  readonly unit?: string;
}

export function isMet({ value, exactly = value, atMost = Infinity, atLeast = -Infinity }: Figure): boolean {
  return value === exactly && value <= atMost && value >= atLeast;
}
