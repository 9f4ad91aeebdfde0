/** Runs the contracts of the session on memory. */
import { createMemoryLog } from "../../src/log/memory.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "../../src/store/memory/store.ts";
import { commandsContract } from "./messages/commands.contract.ts";
import { handoffContract } from "./history/handoff-history.contract.ts";
import { sessionContract } from "./session.contract.ts";

sessionContract("memory", async () => ({ log: createMemoryLog(), store: createMemoryStore() }), 300);

handoffContract("memory", async () => ({ log: createMemoryLog(), store: createMemoryStore() }), 100);

commandsContract("memory", async () => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
}));
