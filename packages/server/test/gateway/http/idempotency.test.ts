/** Runs the contract of idempotency keys in memory. */
import { createMemoryBackend } from "../test-server.ts";
import { idempotencyContract } from "./idempotency.contract.ts";

idempotencyContract(async () => createMemoryBackend(), ["POST /knowledge/{base}/objects", "POST /webhooks"]);
