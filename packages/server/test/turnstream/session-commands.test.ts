/** Runs the contract of the commands on sessions in memory. */
import { sessionCommandsContract } from "./session-commands.contract.ts";

sessionCommandsContract("in memory", async () => ({}));
