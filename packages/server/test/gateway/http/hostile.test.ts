/** Hostile requests to every route, in one process. */
import { hostileContract } from "./hostile.contract.ts";
import { createMemoryBackend } from "../test-server.ts";

hostileContract("memory", async () => createMemoryBackend(), 60);
