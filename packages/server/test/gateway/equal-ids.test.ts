/** Runs the contract of two tenants with equal ids in memory. */
import { equalIdsContract } from "./equal-ids.contract.ts";
import { createMemoryBackend } from "./test-server.ts";

equalIdsContract("memory", async () => createMemoryBackend());
