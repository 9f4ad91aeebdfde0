/** Runs the contracts of the session on memory. */
import { isFull } from "@turnstream/conformance/support/cases.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { commandsContract } from "./messages/commands.contract.ts";
import { logRetentionContract } from "./archive/log-retention.contract.ts";
import { handoffContract } from "./history/handoff-history.contract.ts";
import { sessionContract } from "./session.contract.ts";

sessionContract(
  "memory",
  async () => ({ log: createMemoryLog(), store: createMemoryStore() }),
  isFull ? 300 : 100,
);

logRetentionContract("memory", async () => ({ log: createMemoryLog(), store: createMemoryStore() }));

handoffContract(
  "memory",
  async () => ({ log: createMemoryLog(), store: createMemoryStore() }),
  isFull ? 100 : 40,
);

commandsContract("memory", async () => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
}));
