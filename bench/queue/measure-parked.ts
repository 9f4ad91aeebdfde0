/**
 * `measureParked` measures what 100,000 turns that wait for users cost: the memory of a worker, its statements at rest
 * and during a deploy, and the time from a decision to the start of its tool. It measures the same without such turns.
 *
 * Invariant: 500 of them are real turns that a worker has parked. Functions of the store park the others.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { askAll, decideSome } from "./decide-approvals.ts";
import { COUNTING, countStatements, readCost, startCounting, subtractCost } from "../engine/database-cost.ts";
import { figure, type Measurement, percentile } from "../measure.ts";
import { openSessions, openTurnsEnvironment, type TurnsEnvironment } from "../turns-environment.ts";
import { WorkerProcess } from "../worker-process.ts";
import type { QueueSize } from "./queue.ts";

const PARALLEL = 8;
const BATCH = 50;
const SLICE = 4_000;
const PARK_AFTER_MS = 1_000;
const REST_MS = 20_000;
const SETTLE_MS = 2_000;
const EXECUTOR = "bench-parker";
const LEASE_MS = 24 * 3_600_000;
const WAKE_MS = 7 * 24 * 3_600_000;
const MAX_DECISION_MS = 100;
/** Two measurements of the same thing differ by less. */
const NOISE = { heapBytes: 4 * 2 ** 20, statementsPerSecond: 2, statements: 50 };

function megabytes(bytes: number): number {
  return bytes / 2 ** 20;
}

interface RestCost {
  readonly heap: number;
  readonly rss: number;
  readonly statementsPerSecond: number;
  /** Of one worker that starts and one that shuts down, without those at rest. */
  readonly deployStatements: number;
}

export async function measureParked({ parked, real, decided }: QueueSize): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment(COUNTING);
  try {
    await startCounting(environment);
    const none = await measureRest(environment);
    const fewTimes = await decide(environment, await parkRealTurns(environment, decided));
    const refs = await parkRealTurns(environment, real);
    for (let left = parked - real; left > 0; left -= SLICE) {
      const each = Math.ceil(Math.min(left, SLICE) / PARALLEL);
      await inParallel(() => queueTurns(environment, each));
      await inParallel(() => parkQueued(environment));
      // Counting switches autovacuum off, and each parked turn leaves a dead row in the indexes.
      await runSql(environment.backend.databaseUrl, "vacuum");
    }
    // The others may have locked the last rows. A queued turn would run in the measured worker.
    await parkQueued(environment);
    const all = await measureRest(environment);
    const manyTimes = await decide(environment, refs.slice(0, decided));
    const perSecond = none.statementsPerSecond + NOISE.statementsPerSecond;
    return [
      figure("0 parked: heap of a worker", megabytes(none.heap), "MB"),
      figure(
        `${parked} parked: heap of a worker`,
        megabytes(all.heap),
        "MB",
        megabytes(none.heap + NOISE.heapBytes),
      ),
      figure("0 parked: resident memory of a worker", megabytes(none.rss), "MB"),
      figure(`${parked} parked: resident memory of a worker`, megabytes(all.rss), "MB"),
      figure("0 parked: statements at rest", none.statementsPerSecond, "per second"),
      figure(`${parked} parked: statements at rest`, all.statementsPerSecond, "per second", perSecond),
      figure("0 parked: statements of a deploy", none.deployStatements, "one worker replaced"),
      figure(
        `${parked} parked: statements of a deploy`,
        all.deployStatements,
        "one worker replaced",
        none.deployStatements + NOISE.statements,
      ),
      figure(`${decided} parked: decision to tool start, p50`, percentile(fewTimes, 0.5), "ms"),
      figure(`${decided} parked: decision to tool start, p99`, percentile(fewTimes, 0.99), "ms"),
      figure(
        `${parked} parked: decision to tool start, p50`,
        percentile(manyTimes, 0.5),
        "ms",
        MAX_DECISION_MS,
      ),
      figure(`${parked} parked: decision to tool start, p99`, percentile(manyTimes, 0.99), "ms"),
    ];
  } finally {
    await environment.backend.close();
  }
}

/** Measures a worker without running turns, and replaces it. */
async function measureRest(environment: TurnsEnvironment): Promise<RestCost> {
  const first = await WorkerProcess.start(environment);
  await sleep(SETTLE_MS);
  const start = await readCost(environment);
  await sleep(REST_MS);
  const before = await readCost(environment);
  const second = await WorkerProcess.start(environment);
  await first.shutdown();
  await sleep(SETTLE_MS);
  const after = await readCost(environment);
  const { heap, rss } = await second.measure("clean");
  await second.shutdown();
  const rest = subtractCost(start, before);
  const deploy = subtractCost(before, after);
  const statementsPerSecond = countStatements(rest) / rest.seconds;
  return {
    heap,
    rss,
    statementsPerSecond,
    deployStatements: countStatements(deploy) - statementsPerSecond * deploy.seconds,
  };
}

/** Runs turns until a worker has parked them. */
async function parkRealTurns(environment: TurnsEnvironment, count: number): Promise<SessionRef[]> {
  const worker = await WorkerProcess.start(environment, { parkAfterMs: PARK_AFTER_MS });
  const refs = await openSessions(environment, count);
  await askAll(environment, refs);
  await until("the turns to be parked", async () => (await worker.measure()).running === 0, { everyMs: 500 });
  await worker.shutdown();
  return refs;
}

/** @returns the times from a decision to the start of its tool, in a worker that starts before */
async function decide(environment: TurnsEnvironment, refs: readonly SessionRef[]): Promise<number[]> {
  const worker = await WorkerProcess.start(environment);
  const times = await decideSome(environment, refs);
  await worker.shutdown();
  return times;
}

async function inParallel(run: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: PARALLEL }, run));
}

async function queueTurns(environment: TurnsEnvironment, count: number): Promise<void> {
  for (const ref of await openSessions(environment, count))
    await environment.backend.store.queuedMessages.add(ref, { id: randomUUID(), text: "Wait." });
}

/** Does to the store what a worker does until a turn is parked, for all queued turns. */
async function parkQueued(environment: TurnsEnvironment): Promise<void> {
  const { store } = environment.backend;
  const request = { executor: EXECUTOR, agents: [], limit: BATCH, isIdle: false };
  await store.leases.take(EXECUTOR, LEASE_MS);
  for (;;) {
    const started = await store.queue.start(request);
    for (const { held, row } of started)
      if (!(await store.queue.park(held, row.turn, { wakeAt: Date.now() + WAKE_MS })))
        throw new Error(`the turn of ${held.session} could not be parked`);
    if (started.length === 0) return;
  }
}
