/**
 * `benchTlsTurns` measures what a turn costs a worker with a provider over TLS in the loop, through the real AI SDK. A
 * bare loop reads the same answers through the same SDK, so the difference is the cost of the worker. Worker and bare
 * loop alternate. It takes five minutes.
 */
import { join } from "node:path";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { median } from "@turnstream/testkit/util/median.ts";
import { figure, type Measurement } from "./measure.ts";
import type { ReaderMessage, ReaderRequest } from "./processes/provider-reader.ts";
import type { ProviderAddress, ProviderMessage } from "./processes/tls-provider.ts";
import { openSessions, openTurnsEnvironment, runTurns } from "./turns-environment.ts";
import { slotsFor, WorkerProcess } from "./worker-process.ts";

const TURNS = 200;
const DELTAS = 400;
/** 20 deltas a second, as in the turns bench. */
const PACE_MS = 50;
/** Turns start spread over this time, so that not all deltas arrive in the same moment. */
const RAMP_MS = 2_000;
const ROUNDS = 3;
const ANSWER_MS = DELTAS * PACE_MS;
const TURNS_PER_CORE_AT_LEAST = 500;

export async function benchTlsTurns(): Promise<Measurement[]> {
  const provider = startProgram<ProviderMessage>("tls-provider.ts", { deltas: DELTAS, paceMs: PACE_MS });
  const { address } = await provider.waitFor("address");
  const environment = await openTurnsEnvironment();
  const worker = await WorkerProcess.start(environment, {
    provider: address,
    maxConcurrentTurns: slotsFor(TURNS),
  });
  const reader = startProgram<ReaderMessage, ReaderRequest>("provider-reader.ts", address);
  await reader.ready();
  const readAnswers = async (): Promise<number> =>
    (await reader.request({ read: TURNS, overMs: RAMP_MS }, "cpuMs")).cpuMs / TURNS;
  const work = async (): Promise<number> => {
    const refs = await openSessions(environment, TURNS);
    const before = await worker.measure();
    await runTurns(environment, refs, "provider", RAMP_MS);
    return ((await worker.measure()).cpuMs - before.cpuMs) / TURNS;
  };
  try {
    const runs: { readonly bare: number; readonly ours: number }[] = [];
    // The first round is a warm-up and doesn't count.
    for (let n = 0; n <= ROUNDS; n++) {
      const run = { bare: await readAnswers(), ours: await work() };
      if (n > 0) runs.push(run);
    }
    await worker.shutdown();
    return toFigures(median(runs.map(({ bare }) => bare)), median(runs.map(({ ours }) => ours)));
  } finally {
    await reader.kill();
    await provider.kill();
    await environment.backend.close();
  }
}

/** @param bare CPU time per answer of the bare loop, in ms. @param ours CPU time per turn of the worker, in ms */
function toFigures(bare: number, ours: number): Measurement[] {
  const perCore = { measure: "running turns per core of a worker", atLeast: TURNS_PER_CORE_AT_LEAST };
  const perDelta = (ms: number): number => (ms * 1000) / DELTAS;
  return [
    figure(`turn of ${DELTAS} deltas, one every ${PACE_MS} ms: CPU of the worker`, ours, "ms"),
    figure("the same answer in the bare loop", bare, "ms"),
    figure("difference", ours - bare, "ms"),
    figure("worker per delta", perDelta(ours), "us"),
    figure("bare loop per delta", perDelta(bare), "us"),
    { ...figure(perCore.measure, ANSWER_MS / ours, "turns"), ...perCore },
    figure("running answers per core of the bare loop", ANSWER_MS / bare, "answers"),
    figure("running turns per core without the provider", ANSWER_MS / (ours - bare), "turns"),
  ];
}

function startProgram<Incoming extends object, Outgoing extends object = object>(
  file: string,
  settings: object | ProviderAddress,
): ChildProgram<Incoming, Outgoing> {
  const nodeFlags = process.env["BENCH_FLAGS"]?.split(" ") ?? [];
  return new ChildProgram({ file: join(import.meta.dirname, "processes", file), settings, nodeFlags });
}
