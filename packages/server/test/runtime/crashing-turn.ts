/**
 * A turn whose first worker dies at a chosen call, with a second one that takes over what it left. In memory, so that it
 * can be done at every call. Never says what should come of it.
 */
import { createMemoryLog } from "../../src/log/memory.ts";
import type { Agent } from "../../src/runtime/define/agent.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "../../src/store/memory/store.ts";
import { type Death, Mortality, mortalParts } from "./crash-injection.ts";
import { Stage } from "./turn-harness.ts";

/** @param cast makes the agent, for each worker anew */
export async function doomedTurn(cast: () => Agent, death: Death) {
  const parts = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
  const stage = await Stage.open(parts);
  const ref = await stage.session();
  const died: string[] = [];
  const mortality = new Mortality(death, (name) => died.push(name));
  const { log, store, signals } = mortalParts(parts, mortality);
  await stage.doomed([cast()], { log, store, signals, pollIntervalMs: 20, onError: () => {} });
  const message = await stage.send(ref, "go");
  await stage.worker([cast()], { pollIntervalMs: 20 });
  return { parts, stage, ref, message, died, mortality };
}
