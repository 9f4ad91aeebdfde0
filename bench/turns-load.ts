/**
 * Many turns at a time in one worker, each at the pace of a real model: processor time, memory, and how long a delta takes
 * from the model to a reader of the log.
 */
import { figure, type Measurement, percentile } from "./measure.ts";
import { PACE_MS, PACED_MS, wallClock } from "./turns-agents.ts";
import { between, readCounters } from "./turns-counters.ts";
import { gate, openSessions, send, settle, type Stage, watch, WorkerProcess } from "./turns-stage.ts";

const TURNS = 500;
const RAMP_MS = 5_000;
const WINDOW_MS = 15_000;

export async function measureLoad(stage: Stage, turns = TURNS): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(stage);
  const refs = await openSessions(stage, turns);
  const latencies: number[] = [];
  const durations: number[] = [];
  const begun = new Map<string, number>();
  let isMeasured = false;
  const [allBegun, allEnded] = [gate(), gate()];
  const stop = await watch(stage, refs, (event, session) => {
    if (event.type === "text.delta" || event.type === "thinking.delta") {
      if (!isMeasured) return;
      // Deltas that were joined have a stamp each.
      for (const stamp of event.text.trim().split(" ")) latencies.push(wallClock() - Number(stamp));
    } else if (event.type === "turn.start") {
      begun.set(session, performance.now());
      if (begun.size === turns) allBegun.open();
    } else if (event.type === "turn.end") {
      durations.push(performance.now() - (begun.get(session) ?? Number.NaN));
      if (durations.length === turns) allEnded.open();
    }
  });
  const empty = await worker.weigh("clean");
  for (const ref of refs) {
    void send(stage, ref, "paced");
    await settle(RAMP_MS / turns);
  }
  await allBegun.opened;
  const [weight, counters, cpu] = [
    await worker.weigh(),
    await readCounters(stage, { settled: false }),
    process.cpuUsage(),
  ];
  isMeasured = true;
  await settle(WINDOW_MS);
  isMeasured = false;
  const full = await worker.weigh();
  const spent = between(counters, await readCounters(stage, { settled: false }));
  const gateway = process.cpuUsage(cpu);
  const clean = await worker.weigh("clean");
  await allEnded.opened;
  await stop();
  const failures = await worker.leave();
  const wallMs = spent.seconds * 1000;
  const wanted = turns * (1000 / PACE_MS);
  const cpuMs = full.cpuMs - weight.cpuMs;
  const name = `${turns} turns`;
  const kilobytes = (bytes: number) => bytes / 1024 / turns;
  return [
    figure(`${name}: deltas`, latencies.length / spent.seconds, `per second, of ${wanted} wanted`),
    figure(`${name}: worker CPU`, cpuMs / wallMs, "cores"),
    // So much is one core at the pace that is wanted, however much of it a busy machine allows.
    figure(`${name}: worker CPU per delta`, (cpuMs * 1000) / latencies.length, "us", 1e6 / wanted),
    figure(`${name}: Redis CPU`, spent.redisMs / wallMs, "cores"),
    figure(`${name}: PostgreSQL CPU`, spent.postgresMs / wallMs, "cores"),
    figure(`${name}: CPU of the one who reads`, (gateway.user + gateway.system) / 1000 / wallMs, "cores"),
    figure(`${name}: resident memory`, kilobytes(full.rss - empty.rss), "KB per turn"),
    figure(`${name}: heap in use`, kilobytes(clean.heap - empty.heap), "KB per turn"),
    figure(`${name}: model to log, p50`, percentile(latencies, 0.5), "ms"),
    figure(`${name}: model to log, p99`, percentile(latencies, 0.99), "ms"),
    figure(`${name}: time taken / time the model needs`, percentile(durations, 0.5) / PACED_MS, "median"),
    figure(`${name}: failed and tried again`, failures, "times"),
  ];
}
