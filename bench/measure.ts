/**
 * `alternate` measures candidates in turns, so that noise of the machine affects all of them, and takes the median of
 * each. Prefer ratios within one run as bounds, because absolute times depend on the machine.
 */
import { median } from "@turnstream/testkit/util/median.ts";

const REPETITIONS = 5;
const WARM_UPS = 5;
/** How often `alternate` runs each candidate. */
export const RUNS = REPETITIONS + WARM_UPS;

/** Returns the median milliseconds of each candidate over alternating repetitions, after a warm-up of all. */
export function alternate(
  candidates: Readonly<Record<string, () => unknown>>,
  repetitions = REPETITIONS,
  warmUps = WARM_UPS,
): Record<string, number> {
  const names = Object.keys(candidates);
  const times: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let n = 0; n < warmUps; n++) for (const name of names) candidates[name]?.();
  for (let n = 0; n < repetitions; n++) {
    for (const name of names) {
      const start = performance.now();
      candidates[name]?.();
      times[name]?.push(performance.now() - start);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times[name] ?? [])]));
}

/** Like `alternate`, for asynchronous candidates such as streams. */
export async function alternateAsync(
  candidates: Readonly<Record<string, () => Promise<unknown>>>,
  repetitions: number,
  warmUps: number,
): Promise<Record<string, number>> {
  const times: Record<string, number[]> = {};
  for (let n = -warmUps; n < repetitions; n++) {
    for (const [name, candidate] of Object.entries(candidates)) {
      const start = performance.now();
      await candidate();
      if (n >= 0) (times[name] ??= []).push(performance.now() - start);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
}

export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

/** One measurement: its label, its value, and its bound, if any. */
export interface Measurement {
  readonly measure: string;
  readonly value: number;
  readonly atMost?: number;
  readonly atLeast?: number;
  readonly note?: string;
}

/** Creates a rounded measurement with its unit as the note. */
export function figure(measure: string, value: number, note: string, atMost?: number): Measurement {
  return { measure, value: round(value), note, ...(atMost === undefined ? {} : { atMost }) };
}

export function isOk(measurement: Measurement): boolean {
  const { value, atMost = Infinity, atLeast = -Infinity } = measurement;
  return value <= atMost && value >= atLeast;
}

export function round(value: number): number {
  return Number(value.toPrecision(3));
}

/** The growth exponent of a cost: 1 if it is proportional to the size, 2 if it is quadratic. */
export function growth(small: number, large: number, factor: number): number {
  return Math.log(large / small) / Math.log(factor);
}

/** Returns the time of candidate `a` divided by the time of candidate `b`. */
export function ratio(times: Readonly<Record<string, number>>, a: string, b: string): number {
  return round((times[a] ?? Number.NaN) / (times[b] ?? Number.NaN));
}
