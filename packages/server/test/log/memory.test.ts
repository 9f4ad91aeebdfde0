/** Runs the contract of the log on the memory log. */
import { createMemoryLog } from "../../src/log/memory.ts";
import { logContract } from "./log.contract.ts";

logContract("memory", async () => createMemoryLog());
