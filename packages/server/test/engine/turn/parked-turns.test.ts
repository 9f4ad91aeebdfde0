/** Runs the contract of parked turns in one process. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { parkedTurnsContract } from "./parked-turns.contract.ts";

parkedTurnsContract("memory", async () => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
}));
