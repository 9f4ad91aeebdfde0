/** Runs the contract of a turn in one process, with the engine, log and store in memory. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { turnContract } from "./turns.contract.ts";
import { usageLimitsContract } from "./usage-limits.contract.ts";

const makeBackend = async () => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
});
turnContract(makeBackend);
usageLimitsContract(makeBackend);
