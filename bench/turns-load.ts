/**
 * `measureLoad` runs many turns at a time in one worker, each at the rate of a real model. It measures CPU time,
 * memory, and how long a delta takes from the model to a reader of the log.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { figure, type Measurement, percentile } from "./measure.ts";
import { PACE_MS, PACED_MS, wallClock } from "./turns-agents.ts";
import { subtractCounters, readCounters } from "./turns-counters.ts";
import { createGate, openSessions, send, type TurnsEnvironment, watchSessions } from "./turns-environment.ts";
import { slotsFor, WorkerProcess } from "./worker-process.ts";

const TURNS = 500;
const RAMP_MS = 5_000;
const WINDOW_MS = 15_000;

export async function measureLoad(environment: TurnsEnvironment, turns = TURNS): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(environment, { maxConcurrentTurns: slotsFor(turns) });
  const refs = await openSessions(environment, turns);
  const latencies: number[] = [];
  const durations: number[] = [];
  const startedAt = new Map<string, number>();
  let isMeasured = false;
  const [allStarted, allEnded] = [createGate(), createGate()];
  const stop = await watchSessions(environment, refs, (event, session) => {
    if (event.type === "text.delta" || event.type === "thinking.delta") {
      if (!isMeasured) return;
      // Merged deltas have one stamp each.
      for (const stamp of event.text.trim().split(" ")) latencies.push(wallClock() - Number(stamp));
    } else if (event.type === "turn.start") {
      startedAt.set(session, performance.now());
      if (startedAt.size === turns) allStarted.open();
    } else if (event.type === "turn.end") {
      durations.push(performance.now() - (startedAt.get(session) ?? Number.NaN));
      if (durations.length === turns) allEnded.open();
    }
  });
  const empty = await worker.measure("clean");
  for (const ref of refs) {
    void send(environment, ref, "paced");
    await sleep(RAMP_MS / turns);
  }
  await allStarted.opened;
  const [weight, counters, cpu] = [
    await worker.measure(),
    await readCounters(environment, { settled: false }),
    process.cpuUsage(),
  ];
  isMeasured = true;
  await sleep(WINDOW_MS);
  isMeasured = false;
  const full = await worker.measure();
  const spent = subtractCounters(counters, await readCounters(environment, { settled: false }));
  const gateway = process.cpuUsage(cpu);
  const clean = await worker.measure("clean");
  await allEnded.opened;
  await stop();
  const failures = await worker.shutdown();
  const wallMs = spent.seconds * 1000;
  const wanted = turns * (1000 / PACE_MS);
  const cpuMs = full.cpuMs - weight.cpuMs;
  const name = `${turns} turns`;
  const kilobytes = (bytes: number) => bytes / 1024 / turns;
  return [
    figure(`${name}: deltas`, latencies.length / spent.seconds, `per second, of ${wanted} expected`),
    figure(`${name}: worker CPU`, cpuMs / wallMs, "cores"),
    // This bound is one core at the full rate, however much of that rate a busy machine reaches.
    figure(`${name}: worker CPU per delta`, (cpuMs * 1000) / latencies.length, "us", 1e6 / wanted),
    figure(`${name}: Redis CPU`, spent.redisMs / wallMs, "cores"),
    figure(`${name}: PostgreSQL CPU`, spent.postgresMs / wallMs, "cores"),
    figure(`${name}: CPU of the reader`, (gateway.user + gateway.system) / 1000 / wallMs, "cores"),
    figure(`${name}: resident memory`, kilobytes(full.rss - empty.rss), "KB per turn"),
    figure(`${name}: heap in use`, kilobytes(clean.heap - empty.heap), "KB per turn"),
    figure(`${name}: model to log, p50`, percentile(latencies, 0.5), "ms"),
    figure(`${name}: model to log, p99`, percentile(latencies, 0.99), "ms"),
    figure(
      `${name}: duration / duration of the model's stream`,
      percentile(durations, 0.5) / PACED_MS,
      "median",
    ),
    figure(`${name}: failures that were retried`, failures, "times"),
  ];
}
