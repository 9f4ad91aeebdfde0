/**
 * `benchTurns` measures turns on a real PostgreSQL and Redis. The worker runs in its own process, and this
 * process is the gateway. It measures how soon a turn starts, what a step costs the database, and what many turns cost
 * one worker. It takes six minutes.
 */
import type { Measurement } from "./measure.ts";
import { measureLatency } from "./turns-latency.ts";
import { measureLoad } from "./turns-load.ts";
import { openTurnsEnvironment } from "./turns-environment.ts";
import { measureSteps } from "./turns-steps.ts";
import { measureTree, measureWaiting } from "./turns-waiting.ts";

export async function benchTurns(): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment();
  try {
    const { figures, idle } = await measureLatency(environment);
    return [
      ...figures,
      ...(await measureSteps(environment, idle)),
      ...(await measureLoad(environment)),
      ...(await measureWaiting(environment)),
      ...(await measureTree(environment)),
    ];
  } finally {
    await environment.backend.close();
  }
}
