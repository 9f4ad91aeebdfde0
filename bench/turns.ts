/**
 * Turns on the real thing: PostgreSQL, Redis, DBOS, a gateway and a worker in processes of their own. How soon a turn
 * begins, what a step costs the database, and what many turns cost one worker. Takes six minutes.
 */
import type { Measurement } from "./measure.ts";
import { measureLatency } from "./turns-latency.ts";
import { measureLoad } from "./turns-load.ts";
import { openStage } from "./turns-stage.ts";
import { measureSteps } from "./turns-steps.ts";
import { measureTree, measureWaiting } from "./turns-waiting.ts";

export async function benchTurns(): Promise<Measurement[]> {
  const stage = await openStage();
  try {
    const { figures, idle } = await measureLatency(stage);
    return [
      ...figures,
      ...(await measureSteps(stage, idle)),
      ...(await measureLoad(stage)),
      ...(await measureWaiting(stage)),
      ...(await measureTree(stage)),
    ];
  } finally {
    await stage.close();
  }
}
