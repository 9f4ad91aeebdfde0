/** Runs the contract of shares over HTTP in one process. */
import { sharesContract } from "./shares.contract.ts";
import { createMemoryBackend } from "../test-server.ts";

sharesContract("memory", async () => createMemoryBackend());
