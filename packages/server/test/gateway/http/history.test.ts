/** History and turns by HTTP, in one process. */
import { historyContract } from "./history.contract.ts";
import { memoryParts } from "../test-server.ts";

historyContract("memory", async () => memoryParts());
