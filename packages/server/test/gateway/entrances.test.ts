/** Runs the contract of the entrances in memory. */
import { entrancesContract } from "./entrances.contract.ts";
import { createMemoryBackend } from "./test-server.ts";

entrancesContract("memory", async () => createMemoryBackend());
