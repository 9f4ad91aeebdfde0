/** Runs the contract of hostile requests in one process. */
import { hostileContract } from "./hostile.contract.ts";
import { createMemoryBackend } from "../test-server.ts";

hostileContract("memory", async () => createMemoryBackend(), 60);
