/**
 * `benchEngine` measures what the engine costs and how fast it is, in one table: the cost of a turn in PostgreSQL, what
 * further workers add, the start of a turn, takeovers and connections. docs/performance.md compares engines with it. It
 * takes seven minutes.
 */
import { figure, type Measurement, percentile } from "../measure.ts";
import { openTurnsEnvironment, type TurnsEnvironment } from "../turns-environment.ts";
import { measureStarts } from "../turns-latency.ts";
import { COUNTING, startCounting } from "./database-cost.ts";
import { measureConnections } from "./measure-connections.ts";
import { measureCost, measureFurtherWorkers } from "./measure-cost.ts";
import { measureTakeover } from "./measure-takeover.ts";
import { WorkerProcess } from "../worker-process.ts";

export async function benchEngine(): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment(COUNTING);
  try {
    await startCounting(environment);
    const measurements: Measurement[] = [];
    const parts = [measureStart, measureTakeover, measureCost, measureConnections, measureFurtherWorkers];
    for (const measure of parts) {
      const found = await measure(environment);
      // A later part can fail on a busy machine. These figures are not lost then.
      for (const { measure: name, value } of found) console.error(`[engine] ${name}: ${value}`);
      measurements.push(...found);
    }
    return measurements;
  } finally {
    await environment.backend.close();
  }
}

async function measureStart(environment: TurnsEnvironment): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(environment);
  const { starts } = await measureStarts(environment);
  await worker.shutdown();
  return [
    figure("send to the first event, p50", percentile(starts, 0.5), "ms", 25),
    figure("send to the first event, p99", percentile(starts, 0.99), "ms"),
  ];
}
