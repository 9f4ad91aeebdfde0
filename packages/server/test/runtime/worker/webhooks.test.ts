/** Runs the contract of webhooks of whole turns in one process. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";
import { turnWebhooksContract } from "./webhooks.contract.ts";

turnWebhooksContract("memory", async () => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
}));
