/** Runs the contract of the built-in tools that use the store in memory. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";
import { storageContract } from "./storage.contract.ts";

storageContract(async () => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
}));
