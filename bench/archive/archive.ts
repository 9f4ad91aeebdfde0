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
    const typical = await measureCost(environment);
    return [
      ...typical.filter(({ measure }) => measure.startsWith("typical turn")),
      ...(await measureGrowth(environment)),
      ...(await measureContext(environment)),
    ];
  } finally {
    await environment.backend.close();
  }
}
