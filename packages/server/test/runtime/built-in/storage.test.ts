/** The built-in tools that work on the store, in memory. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import { storageContract } from "./storage.contract.ts";

storageContract(async () => ({
  log: createMemoryLog(),
  store: memoryStore(),
  signals: createMemorySignals(),
}));
