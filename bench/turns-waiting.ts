/**
 * `measureWaiting` measures the memory and server load of waiting turns, and `measureTree` those of one turn with many
 * sub-agents.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { stopTurn } from "@turnstream/server";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement } from "./measure.ts";
import { DEEP, WIDE } from "./turns-agents.ts";
import { subtractCounters, readCounters } from "./turns-counters.ts";
import {
  createGate,
  openSessions,
  runTurns,
  send,
  type TurnsEnvironment,
  watchSessions,
} from "./turns-environment.ts";
import { slotsFor, WorkerProcess } from "./worker-process.ts";

const TURNS = 500;
const IDLE_MS = 10_000;
const ROUNDS = 5;

export async function measureWaiting(environment: TurnsEnvironment): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(environment, { maxConcurrentTurns: slotsFor(TURNS) });
  const refs = await openSessions(environment, TURNS);
  const [allWait, allEnded] = [createGate(), createGate()];
  let [waiting, ended] = [0, 0];
  const stop = await watchSessions(environment, refs, ({ type }) => {
    if (type === "tool_result.start" && ++waiting === TURNS) allWait.open();
    if (type === "turn.end" && ++ended === TURNS) allEnded.open();
  });
  const empty = await worker.measure("clean");
  for (const ref of refs) await send(environment, ref, "waiting");
  await allWait.opened;
  const counters = await readCounters(environment);
  const before = await worker.measure("clean");
  await sleep(IDLE_MS);
  const after = await worker.measure();
  const spent = subtractCounters(counters, await readCounters(environment));
  const stoppedAt = performance.now();
  for (const ref of refs) await stopTurn(environment.backend, ref, { userId: environment.actor.user });
  await allEnded.opened;
  const stopMs = performance.now() - stoppedAt;
  await stop();
  await worker.shutdown();
  const kilobytes = (bytes: number) => bytes / 1024 / TURNS;
  const name = `${TURNS} waiting turns`;
  return [
    figure(`${name}: resident memory`, kilobytes(before.rss - empty.rss), "KB per turn"),
    figure(`${name}: heap in use`, kilobytes(before.heap - empty.heap), "KB per turn"),
    figure(`${name}: worker CPU`, (after.cpuMs - before.cpuMs) / IDLE_MS, "cores"),
    figure(`${name}: PostgreSQL transactions`, spent.commits / spent.seconds, "per second"),
    figure(`${name}: Redis commands`, spent.redisCommands / spent.seconds, "per second"),
    figure(`${name}: all stopped after`, stopMs, "ms, one command after the other"),
  ];
}

export async function measureTree(environment: TurnsEnvironment): Promise<Measurement[]> {
  const worker = await WorkerProcess.start(environment);
  const times: number[] = [];
  const runs: number[] = [];
  const empty = await worker.measure("clean");
  let peak = 0;
  for (let n = 0; n < ROUNDS; n++) {
    const refs = await openSessions(environment, 1);
    let ended = 0;
    const stop = await watchSessions(environment, refs, (event) => {
      if (event.type === "run.end" && event.status === "completed") ended++;
    });
    const startedAt = performance.now();
    await runTurns(environment, refs, "tree");
    times.push(performance.now() - startedAt);
    peak = Math.max(peak, (await worker.measure()).rss);
    // The reader that counts may be slightly behind the reader that saw the end.
    await sleep(100);
    await stop();
    runs.push(ended);
  }
  await worker.shutdown();
  const all = WIDE * DEEP + 1;
  const name = `${WIDE} sub-agents, each ${DEEP} deep`;
  return [
    { measure: `${name}: runs that ended well`, value: Math.min(...runs), atLeast: all },
    figure(`${name}: time`, median(times), "ms"),
    figure(`${name}: resident memory`, (peak - empty.rss) / 2 ** 20, `MB added after ${ROUNDS} of them`),
  ];
}
