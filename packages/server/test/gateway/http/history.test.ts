/** Runs the contract of history over HTTP in one process. */
import { historyContract } from "./history.contract.ts";
import { createMemoryBackend } from "../test-server.ts";

historyContract("memory", async () => createMemoryBackend());
