/**
 * `measureLatency` measures the time from `sendMessage` in one process to the first events of its turn in another, and
 * the load of an idle worker.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { figure, type Measurement, percentile } from "./measure.ts";
import { subtractCounters, readCounters } from "./turns-counters.ts";
import { createGate, openSessions, send, type TurnsEnvironment, watchSessions } from "./turns-environment.ts";
import { WorkerProcess } from "./worker-process.ts";

const SESSIONS = 10;
const TURNS = 300;
const WARM_UP = 30;
const IDLE_MS = 20_000;
/** An ended turn is still being archived. This pause keeps the next turn from waiting for that. */
const REST_MS = 40;

export interface IdleCost {
  readonly commitsPerSecond: number;
  readonly writesPerSecond: number;
  readonly redisPerSecond: number;
}

export async function measureLatency(
  environment: TurnsEnvironment,
): Promise<{ figures: Measurement[]; idle: IdleCost }> {
  const worker = await WorkerProcess.start(environment);
  const { starts: start, firstTexts: word } = await measureStarts(environment);
  const before = await readCounters(environment);
  await sleep(IDLE_MS);
  const spent = subtractCounters(before, await readCounters(environment));
  await worker.shutdown();
  const idle = {
    commitsPerSecond: spent.commits / spent.seconds,
    writesPerSecond: spent.writes / spent.seconds,
    redisPerSecond: spent.redisCommands / spent.seconds,
  };
  return {
    idle,
    figures: [
      figure("send to turn.start, p50", percentile(start, 0.5), "ms", 60),
      figure("send to turn.start, p99", percentile(start, 0.99), "ms"),
      figure("send to the first text, p50", percentile(word, 0.5), "ms"),
      figure("send to the first text, p99", percentile(word, 0.99), "ms"),
      figure("idle worker: PostgreSQL transactions", idle.commitsPerSecond, "per second"),
      figure("idle worker: of these writing", idle.writesPerSecond, "per second"),
      figure("idle worker: Redis commands", idle.redisPerSecond, "per second, including the idle gateway"),
    ],
  };
}

/** Runs short turns one after the other, and returns their times since `send` in milliseconds. */
export async function measureStarts(
  environment: TurnsEnvironment,
): Promise<{ readonly starts: number[]; readonly firstTexts: number[] }> {
  const refs = await openSessions(environment, SESSIONS);
  const [starts, firstTexts]: [number[], number[]] = [[], []];
  let sentAt = 0;
  let ended = createGate();
  const stop = await watchSessions(environment, refs, ({ type }) => {
    if (type === "turn.start") starts.push(performance.now() - sentAt);
    if (type === "text.delta") firstTexts.push(performance.now() - sentAt);
    if (type === "turn.end") ended.open();
  });
  for (let n = 0; n < WARM_UP + TURNS; n++) {
    const ref = refs[n % SESSIONS];
    if (ref === undefined) break;
    ended = createGate();
    sentAt = performance.now();
    await send(environment, ref, "instant");
    await ended.opened;
    await sleep(REST_MS);
  }
  await stop();
  return { starts: starts.slice(WARM_UP), firstTexts: firstTexts.slice(WARM_UP) };
}
