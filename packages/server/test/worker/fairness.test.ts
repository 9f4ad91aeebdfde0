/** Runs the contract of fairness in memory. */
import { createMemoryBackend } from "../gateway/test-server.ts";
import { fairnessContract } from "./fairness.contract.ts";

fairnessContract(async () => createMemoryBackend());
