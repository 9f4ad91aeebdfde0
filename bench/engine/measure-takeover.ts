/**
 * `measureTakeover` measures how long a turn is without a worker after the process that runs it was killed or frozen:
 * from the signal to the `turn.takeover` event of another worker. All workers have the default lease.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { stopTurn } from "@turnstream/server";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement } from "../measure.ts";
import {
  createGate,
  openSessions,
  send,
  type TurnsEnvironment,
  watchSessions,
} from "../turns-environment.ts";
import { WorkerProcess } from "../worker-process.ts";

const KILLS = 10;
const FREEZES = 3;
/**
 * A worker notices the death of another by its lock only if its own lock is older than the other's last renewal, which
 * comes each second. Until then, it waits for the end of the lease.
 */
const SETTLE_MS = 2_500;

export async function measureTakeover(environment: TurnsEnvironment): Promise<Measurement[]> {
  const workers = [await WorkerProcess.start(environment), await WorkerProcess.start(environment)];
  await sleep(SETTLE_MS);
  const kills: number[] = [];
  const freezes: number[] = [];
  for (let n = 0; n < KILLS; n++) kills.push(await takeOverOnce(environment, workers, "kill"));
  for (let n = 0; n < FREEZES; n++) freezes.push(await takeOverOnce(environment, workers, "freeze"));
  await Promise.all(workers.map((worker) => worker.shutdown()));
  return [
    figure("takeover after kill -9, median", median(kills), `ms, of ${KILLS}`, 3_000),
    figure("takeover after kill -9, slowest", Math.max(...kills), "ms"),
    figure("takeover after SIGSTOP, median", median(freezes), `ms, of ${FREEZES}`, 20_000),
    figure("takeover after SIGSTOP, slowest", Math.max(...freezes), "ms"),
  ];
}

/** Replaces the lost worker in `workers`. */
async function takeOverOnce(
  environment: TurnsEnvironment,
  workers: WorkerProcess[],
  how: "kill" | "freeze",
): Promise<number> {
  const refs = await openSessions(environment, 1);
  const [streams, isTakenOver, ended] = [createGate(), createGate(), createGate()];
  const stop = await watchSessions(environment, refs, ({ type }) => {
    if (type === "thinking.delta") streams.open();
    if (type === "turn.takeover") isTakenOver.open();
    if (type === "turn.end") ended.open();
  });
  for (const ref of refs) await send(environment, ref, "paced");
  await streams.opened;
  const usages = await Promise.all(workers.map((worker) => worker.measure()));
  const at = usages.findIndex(({ running }) => running > 0);
  const [lost] = workers.splice(at, 1);
  if (lost === undefined) throw new Error("no worker runs the turn");
  const since = performance.now();
  await (how === "kill" ? lost.kill() : lost.freeze());
  await isTakenOver.opened;
  const ms = performance.now() - since;
  await lost.kill();
  const { backend, actor } = environment;
  for (const ref of refs) await stopTurn(backend, ref, { userId: actor.user });
  await ended.opened;
  await stop();
  workers.push(await WorkerProcess.start(environment));
  await sleep(SETTLE_MS);
  return ms;
}
