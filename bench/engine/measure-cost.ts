/**
 * `measureCost` measures what a typical turn costs PostgreSQL, and `measureFurtherWorkers` what each further worker adds
 * to a turn that it doesn't run.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { figure, type Measurement } from "../measure.ts";
import { openSessions, runTurns, type TurnsEnvironment } from "../turns-environment.ts";
import { WorkerProcess } from "../worker-process.ts";
import { costPerTurn, countStatements, type DatabaseCost, readCost, subtractCost } from "./database-cost.ts";

const IDLE_MS = 10_000;
/** Relays, and the last commit of a turn, come after its end. */
const SETTLE_MS = 1_500;
const TYPICAL_TURNS = 20;
const SHORT_TURNS = 100;
const SPREAD_MS = 10_000;
/** Sixteen processes that start on few cores would be too slow for the default lease. */
const TTL_MS = 60_000;
const WORKERS = [1, 2, 4, 8, 16];
const SHOWN_CHARS = 110;
/** Rarer statements are polls whose rate varies. */
const SHOWN_CALLS = 0.05;

export async function measureCost(environment: TurnsEnvironment): Promise<Measurement[]> {
  const cost = await costOf(environment, 1, "typical", TYPICAL_TURNS);
  const { writes, statements, walBytes } = cost;
  const sent = [...statements].filter(([, calls]) => calls >= SHOWN_CALLS).toSorted(([, a], [, b]) => b - a);
  return [
    ...sent.map(([text, calls]) => figure(`statement: ${text.slice(0, SHOWN_CHARS)}`, calls, "per turn")),
    figure("typical turn: writing transactions", writes, "4 steps, 3 tools, 400 deltas, one worker", 8),
    figure(
      "typical turn: statements",
      countStatements(cost),
      "sent by gateway and worker, with begin and commit",
      45,
    ),
    figure("typical turn: WAL", walBytes / 1024, "KB, without full-page images", 25),
  ];
}

export async function measureFurtherWorkers(environment: TurnsEnvironment): Promise<Measurement[]> {
  const costs: { workers: number; cost: DatabaseCost }[] = [];
  for (const workers of WORKERS) {
    const cost = await costOf(environment, workers, "instant", SHORT_TURNS);
    costs.push({ workers, cost });
  }
  const slope = (valueOf: (cost: DatabaseCost) => number) =>
    slopeOf(costs.map(({ workers, cost }) => ({ x: workers, y: valueOf(cost) })));
  return [
    ...costs.flatMap(({ workers, cost }) => [
      figure(`short turn, ${workers} workers: writing transactions`, cost.writes, "idle polling subtracted"),
      figure(`short turn, ${workers} workers: statements`, countStatements(cost), "idle polling subtracted"),
    ]),
    figure(
      "per further worker: writing transactions",
      slope(({ writes }) => writes),
      "slope over 1 to 16 workers",
      0.02,
    ),
    // A new turn wakes all idle workers, and each of them looks once.
    figure("per further worker: statements", slope(countStatements), "slope over 1 to 16 workers", 1.2),
  ];
}

/** Runs turns and returns what one of them costs. */
export async function costOf(
  environment: TurnsEnvironment,
  workerCount: number,
  agent: string,
  turns: number,
): Promise<DatabaseCost> {
  const workers = await Promise.all(
    Array.from({ length: workerCount }, () => WorkerProcess.start(environment, { ttlMs: TTL_MS })),
  );
  const refs = await openSessions(environment, turns);
  // The first turns open the connections of the pools.
  await runTurns(environment, await openSessions(environment, 2 * workerCount), "instant");
  await sleep(SETTLE_MS);
  const start = await readCost(environment);
  await sleep(IDLE_MS);
  const before = await readCost(environment);
  await runTurns(environment, refs, agent, SPREAD_MS);
  await sleep(SETTLE_MS);
  const spent = subtractCost(before, await readCost(environment));
  await Promise.all(workers.map((worker) => worker.shutdown()));
  return costPerTurn(spent, subtractCost(start, before), turns);
}

/** The least-squares slope. */
function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  return mean((point) => (point.x - x) * (point.y - y)) / mean((point) => (point.x - x) ** 2);
}
