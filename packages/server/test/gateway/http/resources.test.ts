/** Runs the contracts of resources and webhooks over HTTP in one process. */
import { resourcesContract } from "./resources.contract.ts";
import { createMemoryBackend } from "../test-server.ts";
import { webhookRoutesContract } from "./webhooks.contract.ts";

resourcesContract("memory", async () => createMemoryBackend());
webhookRoutesContract("memory", async () => createMemoryBackend());
