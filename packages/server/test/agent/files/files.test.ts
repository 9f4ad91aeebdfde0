/** Runs the contract of files in a message in one process. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { filesContract } from "./files.contract.ts";

filesContract(async () => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
}));
