/** Files that come with a message, in one process. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import { filesContract } from "./files.contract.ts";

filesContract(async () => ({
  log: createMemoryLog(),
  store: memoryStore(),
  signals: createMemorySignals(),
}));
