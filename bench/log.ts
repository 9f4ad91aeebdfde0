/**
 * `benchLog` compares the log with a bare Redis stream: CPU time per event (client and Redis), latency and throughput,
 * from an append to a reader. Both alternate on one private Redis, and medians of five runs count.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventDraft } from "@turnstream/protocol/writer";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { openBaseline, openTurnstreamLog, type OpenLogTarget } from "./log-targets.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { type Measurement, round } from "./measure.ts";

const SESSIONS = 200;
const RATE = 6_000;
const ROUNDS = 5;
const SECONDS = 4;
const TICK_MS = 5;

interface Run {
  readonly clientMicros: number;
  readonly redisMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

function draftOf(n: number): EventDraft {
  return {
    type: "text.delta",
    turn: "turn_1",
    run: "run_1",
    block: "block_1",
    index: 3,
    text: `word${n % 1000} and more `,
  };
}

async function redisCpuMicros(redis: RedisServer): Promise<number> {
  const info = String(await redis.command("INFO", "cpu"));
  const read = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1]);
  return (read("used_cpu_user") + read("used_cpu_sys")) * 1e6;
}

/** Appends at a steady rate, spread over all sessions. */
async function pace(redis: RedisServer, open: OpenLogTarget): Promise<Omit<Run, "perSecond">> {
  const sent: number[][] = Array.from({ length: SESSIONS }, () => []);
  const latencies: number[] = [];
  const subject = await open(redis.url, SESSIONS, (session) => {
    const at = sent[session]?.shift();
    if (at !== undefined) latencies.push(performance.now() - at);
  });
  await sleep(300);
  const events = RATE * SECONDS;
  const [cpu, redisCpu, started] = [process.cpuUsage(), await redisCpuMicros(redis), performance.now()];
  let n = 0;
  const pending: Promise<unknown>[] = [];
  while (n < events) {
    const due = Math.min(events, Math.floor(((performance.now() - started) * RATE) / 1000));
    for (; n < due; n++) {
      const session = (n * 7919) % SESSIONS;
      sent[session]?.push(performance.now());
      pending.push(subject.append(session, draftOf(n)));
    }
    await sleep(TICK_MS);
  }
  await Promise.all(pending);
  while (latencies.length < events) await sleep(TICK_MS);
  const used = process.cpuUsage(cpu);
  const redisUsed = (await redisCpuMicros(redis)) - redisCpu;
  await subject.close();
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    clientMicros: (used.user + used.system) / events,
    redisMicros: redisUsed / events,
    p50Ms: sorted[Math.floor(events * 0.5)] ?? Number.NaN,
    p99Ms: sorted[Math.floor(events * 0.99)] ?? Number.NaN,
  };
}

/** Appends at the maximum rate: every session sends its next event when the last one is acknowledged. */
async function rush(redis: RedisServer, open: OpenLogTarget): Promise<number> {
  const count = { sent: 0, arrived: 0 };
  const subject = await open(redis.url, SESSIONS, () => count.arrived++);
  await sleep(300);
  const until = performance.now() + (SECONDS / 2) * 1000;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: SESSIONS }, async (_, session) => {
      while (performance.now() < until) await subject.append(session, draftOf(count.sent++));
    }),
  );
  while (count.arrived < count.sent) await sleep(1);
  const perSecond = (count.sent * 1000) / (performance.now() - started);
  await subject.close();
  return perSecond;
}

export async function benchLog(): Promise<Measurement[]> {
  // A sync at every append would take most of the time of both and hide their difference.
  const redis = await startRedis({ config: { appendfsync: "everysec" } });
  const runs: Record<"bare" | "ours", Run[]> = { bare: [], ours: [] };
  const subjects = { bare: openBaseline, ours: openTurnstreamLog } as const;
  const isOursOnly = process.argv.includes("--ours");
  try {
    // The first round is a warm-up and doesn't count.
    for (let n = 0; n <= ROUNDS; n++) {
      for (const name of n % 2 === 0 ? (["bare", "ours"] as const) : (["ours", "bare"] as const)) {
        if (isOursOnly && name === "bare") continue;
        const run = { ...(await pace(redis, subjects[name])), perSecond: await rush(redis, subjects[name]) };
        if (n > 0) runs[name].push(run);
      }
    }
  } finally {
    await redis.stop();
  }
  const of = (name: "bare" | "ours", figure: (run: Run) => number) => median(runs[name].map(figure));
  const cpu = (run: Run) => run.clientMicros + run.redisMicros;
  const measured = isOursOnly ? (["ours"] as const) : (["bare", "ours"] as const);
  const figures = measured.flatMap((name): Measurement[] => [
    {
      measure: `${name}: client CPU`,
      value: round(of(name, (run) => run.clientMicros)),
      note: "us per event",
    },
    { measure: `${name}: Redis CPU`, value: round(of(name, (run) => run.redisMicros)), note: "us per event" },
    { measure: `${name}: latency p50`, value: round(of(name, (run) => run.p50Ms)), note: "ms" },
    { measure: `${name}: latency p99`, value: round(of(name, (run) => run.p99Ms)), note: "ms" },
    {
      measure: `${name}: throughput`,
      value: round(of(name, (run) => run.perSecond)),
      note: "events per second",
    },
  ]);
  if (isOursOnly) return figures;
  const times = (figure: (run: Run) => number) => round(of("ours", figure) / of("bare", figure));
  return [
    ...figures,
    { measure: "CPU per event, times bare", value: times(cpu), atMost: 1.5 },
    { measure: "latency p50, times bare", value: times((run) => run.p50Ms), atMost: 1.5 },
    { measure: "throughput, times bare", value: times((run) => run.perSecond), atLeast: 0.7 },
  ];
}
