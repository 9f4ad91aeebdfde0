/** Hostile requests to every route, in one process. */
import { hostileContract } from "./hostile.contract.ts";
import { memoryParts } from "../test-server.ts";

hostileContract("memory", async () => memoryParts(), 60);
