/**
 * `benchArchive` measures what the archive costs PostgreSQL: how the WAL of a turn grows with its steps, how often
 * content is stored, the WAL of a typical turn, and what a turn reads of a long session. It takes three minutes.
 */
import { COUNTING, startCounting } from "../engine/database-cost.ts";
import { measureCost } from "../engine/measure-cost.ts";
import type { Measurement } from "../measure.ts";
import { openTurnsEnvironment } from "../turns-environment.ts";
import { measureContext } from "./measure-context.ts";
import { measureGrowth } from "./measure-growth.ts";

export async function benchArchive(): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment(COUNTING);
  try {
    await startCounting(environment);
    const measurements: Measurement[] = [];
    for (const measure of [measureCost, measureGrowth, measureContext]) {
      const found = (await measure(environment)).filter((each) => !each.measure.startsWith("statement:"));
      // A later part can fail on a busy machine. These figures are not lost then.
      for (const { measure: name, value, note } of found)
        console.error(`[archive] ${name}: ${value} ${note}`);
      measurements.push(...found);
    }
    return measurements;
  } finally {
    await environment.backend.close();
  }
}
