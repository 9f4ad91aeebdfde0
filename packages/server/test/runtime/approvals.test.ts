/** Approvals in one process. */
import { createMemoryLog } from "../../src/log/memory.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { approvalContract } from "./approvals.contract.ts";

approvalContract(async () => ({
  log: createMemoryLog(),
  store: memoryStore(),
  signals: createMemorySignals(),
}));
