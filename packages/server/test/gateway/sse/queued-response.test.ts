/** Runs the contract of responses to queued messages in memory. */
import { createMemoryBackend } from "../test-server.ts";
import { queuedResponseContract } from "./queued-response.contract.ts";

queuedResponseContract("memory", async () => createMemoryBackend());
