/**
 * `benchTurnCost` counts what a typical turn costs PostgreSQL, statement by statement, and the connections of a busy
 * worker. The bench `engine` measures the same among other things. It takes half a minute.
 */
import { COUNTING, startCounting } from "./engine/database-cost.ts";
import { measureConnections } from "./engine/measure-connections.ts";
import { measureCost } from "./engine/measure-cost.ts";
import type { Measurement } from "./measure.ts";
import { openTurnsEnvironment } from "./turns-environment.ts";

export async function benchTurnCost(): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment(COUNTING);
  try {
    await startCounting(environment);
    return [...(await measureCost(environment)), ...(await measureConnections(environment))];
  } finally {
    await environment.backend.close();
  }
}
