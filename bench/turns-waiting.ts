/** Turns that wait, and one turn with many sub-agents: what they weigh, and what they ask of the servers. */
import { stopTurn } from "@turnstream/server";
import { figure, type Measurement, median } from "./measure.ts";
import { DEEP, WIDE } from "./turns-agents.ts";
import { between, readCounters } from "./turns-counters.ts";
import {
  gate,
  openSessions,
  playAll,
  send,
  settle,
  type Stage,
  watch,
  WorkerProcess,
} from "./turns-stage.ts";

const TURNS = 500;
const IDLE_MS = 10_000;
const ROUNDS = 5;

export async function measureWaiting(stage: Stage): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(stage);
  const refs = await openSessions(stage, TURNS);
  const [allWait, allEnded] = [gate(), gate()];
  let [waiting, ended] = [0, 0];
  const stop = await watch(stage, refs, ({ type }) => {
    if (type === "tool_result.start" && ++waiting === TURNS) allWait.open();
    if (type === "turn.end" && ++ended === TURNS) allEnded.open();
  });
  const empty = await worker.weigh("clean");
  for (const ref of refs) await send(stage, ref, "waiting");
  await allWait.opened;
  const counters = await readCounters(stage);
  const before = await worker.weigh("clean");
  await settle(IDLE_MS);
  const after = await worker.weigh();
  const spent = between(counters, await readCounters(stage));
  const stoppedAt = performance.now();
  for (const ref of refs) await stopTurn(stage.parts, ref, { userId: stage.actor.user });
  await allEnded.opened;
  const stopMs = performance.now() - stoppedAt;
  await stop();
  await worker.leave();
  const kilobytes = (bytes: number) => bytes / 1024 / TURNS;
  const name = `${TURNS} waiting turns`;
  return [
    figure(`${name}: resident memory`, kilobytes(before.rss - empty.rss), "KB per turn"),
    figure(`${name}: heap in use`, kilobytes(before.heap - empty.heap), "KB per turn"),
    figure(`${name}: worker CPU`, (after.cpuMs - before.cpuMs) / IDLE_MS, "cores"),
    figure(`${name}: PostgreSQL transactions`, spent.commits / spent.seconds, "per second"),
    figure(`${name}: Redis commands`, spent.redisCommands / spent.seconds, "per second"),
    figure(`${name}: all stopped after`, stopMs, "ms, the commands one after the other"),
  ];
}

export async function measureTree(stage: Stage): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(stage);
  const times: number[] = [];
  const runs: number[] = [];
  const empty = await worker.weigh("clean");
  let peak = 0;
  for (let n = 0; n < ROUNDS; n++) {
    const refs = await openSessions(stage, 1);
    let ended = 0;
    const stop = await watch(stage, refs, (event) => {
      if (event.type === "run.end" && event.status === "completed") ended++;
    });
    const begun = performance.now();
    await playAll(stage, refs, "tree");
    times.push(performance.now() - begun);
    peak = Math.max(peak, (await worker.weigh()).rss);
    // The reader that counts may be a little behind the one that saw the end.
    await settle(100);
    await stop();
    runs.push(ended);
  }
  await worker.leave();
  const all = WIDE * DEEP + 1;
  const name = `${WIDE} sub-agents, each ${DEEP} deep`;
  return [
    { measure: `${name}: runs that ended well`, value: Math.min(...runs), atLeast: all },
    figure(`${name}: time`, median(times), "ms"),
    figure(`${name}: resident memory`, (peak - empty.rss) / 2 ** 20, `MB more after ${ROUNDS} of them`),
  ];
}
