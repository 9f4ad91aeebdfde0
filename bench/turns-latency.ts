/** From `sendMessage` in one process to the first events of its turn, which runs in another; and what waiting costs. */
import { figure, type Measurement, percentile } from "./measure.ts";
import { between, readCounters } from "./turns-counters.ts";
import { gate, openSessions, send, settle, type Stage, watch, WorkerProcess } from "./turns-stage.ts";

const SESSIONS = 10;
const TURNS = 300;
const WARM_UP = 30;
const IDLE_MS = 20_000;
/** After a turn has ended it is still archived; the next one is not to wait for that. */
const REST_MS = 40;

export interface IdleCost {
  readonly commitsPerSecond: number;
  readonly writesPerSecond: number;
  readonly redisPerSecond: number;
}

export async function measureLatency(stage: Stage): Promise<{ figures: Measurement[]; idle: IdleCost }> {
  const worker = await WorkerProcess.start(stage);
  const refs = await openSessions(stage, SESSIONS);
  const [starts, words]: [number[], number[]] = [[], []];
  let sentAt = 0;
  let ended = gate();
  const stop = await watch(stage, refs, ({ type }) => {
    if (type === "turn.start") starts.push(performance.now() - sentAt);
    if (type === "text.delta") words.push(performance.now() - sentAt);
    if (type === "turn.end") ended.open();
  });
  for (let n = 0; n < WARM_UP + TURNS; n++) {
    const ref = refs[n % SESSIONS];
    if (ref === undefined) break;
    ended = gate();
    sentAt = performance.now();
    await send(stage, ref, "instant");
    await ended.opened;
    await settle(REST_MS);
  }
  await stop();
  const before = await readCounters(stage);
  await settle(IDLE_MS);
  const spent = between(before, await readCounters(stage));
  await worker.leave();
  const [start, word] = [starts.slice(WARM_UP), words.slice(WARM_UP)];
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
      figure(
        "idle worker: Redis commands",
        idle.redisPerSecond,
        "per second, those of the idle gateway included",
      ),
    ],
  };
}
