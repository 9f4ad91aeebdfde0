/** Resources by HTTP, in one process. */
import { resourcesContract } from "./resources.contract.ts";
import { memoryParts } from "../test-server.ts";

resourcesContract("memory", async () => memoryParts());
