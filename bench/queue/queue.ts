/**
 * `benchQueue` measures the queue of turns when it is long: how soon a tenant's turn starts while another tenant has 10,000
 * queued turns, and what 100,000 parked turns cost. It compares each figure with an empty queue in the same run. It
 * takes twenty minutes.
 */
import type { Measurement } from "../measure.ts";
import { measureFlood } from "./measure-flood.ts";
import { measureParked } from "./measure-parked.ts";

export interface QueueSize {
  readonly queued: number;
  readonly parked: number;
  /** How many of the parked turns a worker has run. */
  readonly real: number;
  /** How many of these are decided. */
  readonly decided: number;
}

const FULL: QueueSize = { queued: 10_000, parked: 100_000, real: 500, decided: 200 };
/** A smoke test. Its figures are not those that the documentation promises. */
const SHORT: QueueSize = { queued: 500, parked: 1_000, real: 30, decided: 20 };

export async function benchQueue(): Promise<Measurement[]> {
  const size = process.argv.includes("--short") ? SHORT : FULL;
  const measurements: Measurement[] = [];
  for (const measure of [measureFlood, measureParked]) {
    const found = await measure(size);
    for (const { measure: name, value } of found) console.error(`[queue] ${name}: ${value}`);
    measurements.push(...found);
  }
  return measurements;
}
