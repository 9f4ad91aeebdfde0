/** `createDataFolder` returns a new folder for the data of `turnstream()`, which is removed after the test. */
import { onTestFinished } from "vitest";
import { makeFolder, removeFolder } from "../processes/watch.ts";

/** Call it before the test registers what closes the server, so that the server is closed first. */
export async function createDataFolder(): Promise<string> {
  const folder = await makeFolder("data");
  onTestFinished(() => removeFolder(folder));
  return folder;
}
