/** Runs the contract of resources over HTTP in one process. */
import { resourcesContract } from "./resources.contract.ts";
import { createMemoryBackend } from "../test-server.ts";

resourcesContract("memory", async () => createMemoryBackend());
