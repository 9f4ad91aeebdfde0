/** Runs the contract of hostile requests in one process. */
import { isFull } from "@turnstream/conformance/support/cases.ts";
import { hostileContract } from "./hostile.contract.ts";
import { createMemoryBackend } from "../test-server.ts";

hostileContract("memory", async () => createMemoryBackend(), isFull ? 60 : 8);
