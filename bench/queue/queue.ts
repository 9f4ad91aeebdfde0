/**
 * `benchQueue` measures the job queue when it is long: how soon a tenant's turn starts while another tenant has 10,000
 * queued turns, and what 100,000 parked turns cost. It compares each figure with an empty queue in the same run. It
 * takes twenty minutes.
 */
import type { Measurement } from "../measure.ts";
import { measureFlood } from "./measure-flood.ts";
import { measureParked } from "./measure-parked.ts";

export async function benchQueue(): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const measure of [measureFlood, measureParked]) {
    const found = await measure();
    for (const { measure: name, value } of found) console.error(`[queue] ${name}: ${value}`);
    measurements.push(...found);
  }
  return measurements;
}
