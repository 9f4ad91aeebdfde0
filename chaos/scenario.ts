/**
 * What a scenario is: one kind of fault, done many times to real servers under load, and figures that must come
 * out as promised in docs/reliability.md. Never runs one.
 */

import type { Random } from "@turnstream/testkit/util/seeded-random.ts";

/** Who has not been told of something by then never is; whether it was soon enough is a figure of its own. */
export const NEVER_MS = 30_000;

export interface Scenario {
  /** Which promise of docs/reliability.md it is the test of. */
  readonly promise: number;
  readonly about: string;
  /** How often the full run does it. */
  readonly times: number;
  /** How often the short form in CI does it, where ten times would take too long. */
  readonly short?: number;
  run(options: RunOptions): Promise<Figure[]>;
}

export interface RunOptions {
  readonly times: number;
  /** Choices between 0 and 1, so that a run can be repeated. */
  readonly random: Random;
  /** Tells people how far it is. */
  readonly progress: (text: string) => void;
}

/** A count or time that came out, and what it must be. */
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
