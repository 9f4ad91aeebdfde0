/** Runs the contract of the commands on sessions in a folder. */
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { sessionCommandsContract } from "./session-commands.contract.ts";

sessionCommandsContract("in a folder", async () => ({ dataFolder: await createDataFolder() }));
