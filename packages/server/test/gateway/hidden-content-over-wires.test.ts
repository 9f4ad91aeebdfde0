/** Runs the contract of hidden content over all wires in one process. */
import { hiddenContentContract } from "./hidden-content.contract.ts";
import { createMemoryBackend } from "./test-server.ts";

hiddenContentContract("memory", async () => createMemoryBackend(), 1);
