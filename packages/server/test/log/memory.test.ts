/** The contract of the log on memory. */
import { createMemoryLog } from "../../src/log/memory.ts";
import { logContract } from "./log.contract.ts";

logContract("memory", async () => createMemoryLog());
