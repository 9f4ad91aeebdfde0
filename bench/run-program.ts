/** `runProgram` runs one of our programs and returns the lines that it prints. Throws if it fails. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export async function runProgram(file: string, args: readonly string[], folder: string): Promise<string[]> {
  const flags = ["--conditions=@turnstream/source", file, ...args];
  const { stdout } = await run(process.execPath, flags, { cwd: folder, maxBuffer: 2 ** 24 });
  return stdout.split("\n").filter((line) => line.startsWith("{"));
}
