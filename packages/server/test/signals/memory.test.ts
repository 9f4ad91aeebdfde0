/** Runs the contract of signals within one process. */
import { createMemorySignals } from "../../src/signals/memory.ts";
import { signalsContract } from "./signals.contract.ts";

signalsContract("memory", async () => {
  const signals = createMemorySignals();
  return [signals, signals];
});
