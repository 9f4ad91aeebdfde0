/** Runs the contract of payments over HTTP in one process, over every transport. */
import { createMemoryBackend } from "../test-server.ts";
import { paymentsContract } from "./payments.contract.ts";

paymentsContract("memory", "fastify", async () => createMemoryBackend());
paymentsContract("memory", "node", async () => createMemoryBackend());
paymentsContract("memory", "fetch", async () => createMemoryBackend());
