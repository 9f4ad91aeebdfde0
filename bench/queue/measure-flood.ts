/**
 * `measureFlood` measures how soon the turns of one tenant start while another tenant has 10,000 queued turns, and how
 * long a process takes to start turns from that queue.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement, percentile } from "../measure.ts";
import { openSessions, openTurnsEnvironment, send, type TurnsEnvironment } from "../turns-environment.ts";
import { measureStarts } from "../turns-latency.ts";
import { WorkerProcess } from "../worker-process.ts";
import type { QueueSize } from "./queue.ts";

const AT_ONCE = 16;
const WORKERS = 2;
const SLOTS = 50;
const STARTS = 100;
const STARTED = 10;
const SETTLE_MS = 15_000;
const MAX_DELAY_MS = 200;
const EXECUTOR = "bench-start";
const LEASE_MS = 24 * 3_600_000;

export async function measureFlood({ queued }: QueueSize): Promise<Measurement[]> {
  const environment = await openTurnsEnvironment();
  const { tenants } = environment.backend.store;
  await tenants.create({ id: "flood", name: "Flood" });
  const flood = { ...environment, actor: { tenant: "flood", user: "user-1" } };
  try {
    const idle = await measureWithWorkers(environment, 0);
    const few = await measureQueueStarts(flood, SLOTS);
    const many = await measureQueueStarts(flood, queued - SLOTS);
    const flooded = await measureWithWorkers(environment, SETTLE_MS);
    const allowed = percentile(idle, 0.99) + MAX_DELAY_MS;
    return [
      figure("idle: send to the first event, p50", percentile(idle, 0.5), "ms"),
      figure("idle: send to the first event, p99", percentile(idle, 0.99), "ms"),
      figure(`start of ${STARTED} turns from ${SLOTS} queued, p50`, percentile(few, 0.5), "ms"),
      figure(`start of ${STARTED} turns from ${SLOTS} queued, p99`, percentile(few, 0.99), "ms"),
      figure(`start of ${STARTED} turns from ${queued} queued, p50`, percentile(many, 0.5), "ms"),
      figure(`start of ${STARTED} turns from ${queued} queued, p99`, percentile(many, 0.99), "ms"),
      figure(`${queued} queued: send to the first event, p50`, percentile(flooded, 0.5), "ms"),
      figure(`${queued} queued: send to the first event, p99`, percentile(flooded, 0.99), "ms", allowed),
      {
        measure: "turns still queued at the end",
        value: await countQueued(environment),
        atLeast: queued / 2,
      },
    ];
  } finally {
    await environment.backend.close();
  }
}

async function measureWithWorkers(environment: TurnsEnvironment, settleMs: number): Promise<number[]> {
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, () => WorkerProcess.start(environment, { maxConcurrentTurns: SLOTS })),
  );
  await sleep(settleMs);
  const { starts } = await measureStarts(environment);
  // The queue is long, so they don't wait for their turns.
  await Promise.all(workers.map((worker) => worker.kill()));
  return starts;
}

/** Queues turns, and starts and returns some of them repeatedly. @returns milliseconds of each start */
async function measureQueueStarts(environment: TurnsEnvironment, more: number): Promise<number[]> {
  const { queue, leases } = environment.backend.store;
  await leases.take(EXECUTOR, LEASE_MS);
  for (let n = 0; n < more; n += AT_ONCE) {
    const refs = await openSessions(environment, Math.min(AT_ONCE, more - n));
    await Promise.all(refs.map((ref) => send(environment, ref, "slow")));
  }
  const times: number[] = [];
  const request = { executor: EXECUTOR, agents: ["slow"], limit: STARTED, isIdle: false };
  for (let n = 0; n < STARTS; n++) {
    const since = performance.now();
    const started = await queue.start(request);
    times.push(performance.now() - since);
    if (started.length !== STARTED)
      throw new Error(`${started.length} turns were started instead of ${STARTED}`);
    await queue.release(started.map(({ held }) => held));
  }
  return times;
}

async function countQueued({ backend }: TurnsEnvironment): Promise<number> {
  const [row] = await runSql(
    backend.databaseUrl,
    "select count(*)::int as n from turnstream.turn_queue where executor is null and rank is not null",
  );
  return Number(row?.["n"]);
}
