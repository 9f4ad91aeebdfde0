/**
 * Runs a turn whose first worker dies at a chosen call, and a second worker that takes over, in memory by default, so
 * that a test can do this for every call. It asserts nothing.
 */
import { createMemoryLog } from "../../src/log/memory.ts";
import type { Agent } from "../../src/agent/define/agent.ts";
import type { WorkerOptions } from "../../src/worker/options.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { type CrashOptions, CrashPoint, withCrashPoint } from "./crash-injection.ts";
import { type HarnessBackend, TurnHarness } from "./turn-harness.ts";

/**
 * @param cast creates the agent, once for each worker
 * @param options options of both workers
 * @param open opens what they work on
 */
export async function startCrashingTurn(
  cast: () => Agent,
  crash: CrashOptions,
  options: Partial<WorkerOptions> = {},
  open: () => Promise<HarnessBackend> = async () => ({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  }),
) {
  const parts = await open();
  const harness = await TurnHarness.open(parts);
  const ref = await harness.session();
  const died: string[] = [];
  const crashPoint = new CrashPoint(crash, (name) => died.push(name));
  const { log, store, signals } = withCrashPoint(parts, crashPoint);
  // It finds the message by a hint. Polls would add calls by the time that a run takes, so that crash points would differ.
  const crashing = { ...options, log, store, signals, pollIntervalMs: 600_000, onError: () => {} };
  await harness.crashingWorker([cast()], crashing);
  const message = await harness.send(ref, "go");
  await harness.worker([cast()], { ...options, pollIntervalMs: 20 });
  return { parts, harness, ref, message, died, crashPoint };
}
