/**
 * `runCommand` runs one command of the toolchain and prints its output. It does not throw if the command fails.
 * Invariant: it keeps a bounded number of lines, except of a command whose output is buffered.
 */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

export const root = join(import.meta.dirname, "..");

interface CommandOptions {
  /** Relative to the root of the repository. */
  folder?: string;
  /** Lines of the command's output that are not printed. */
  hide?: RegExp;
  /** Prints all output after the command has ended, so that it doesn't mix with the output of another command. */
  isBuffered?: boolean;
}

interface CommandResult {
  ok: boolean;
  seconds: number;
  /** The end of the command's output, which names the reason of a failure. Empty if it printed to a terminal. */
  lastLines: string[];
}

const LAST_LINES = 30;

export async function runCommand(command: string, options: CommandOptions = {}): Promise<CommandResult> {
  const { folder = ".", hide, isBuffered = false } = options;
  const [file = "", ...args] = command.split(" ");
  const started = performance.now();
  // In a terminal, commands print colors and progress.
  const isPiped = isBuffered || hide !== undefined || !process.stdout.isTTY;
  const child = spawn(file, args, {
    cwd: join(root, folder),
    env: {
      ...process.env,
      PATH: `${join(root, "node_modules", ".bin")}${delimiter}${process.env["PATH"] ?? ""}`,
    },
    stdio: ["ignore", isPiped ? "pipe" : "inherit", isPiped ? "pipe" : "inherit"],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      if (hide?.test(line) === true) return;
      lines.push(line);
      if (isBuffered) return;
      console.log(line);
      if (lines.length > LAST_LINES) lines.shift();
    });
  }
  const ok = await new Promise<boolean>((resolve) => {
    child.on("error", (error) => {
      console.error(error.message);
      resolve(false);
    });
    child.on("close", (code) => {
      resolve(code === 0);
    });
  });
  if (isBuffered && lines.length > 0) console.log(lines.join("\n"));
  return { ok, seconds: (performance.now() - started) / 1000, lastLines: lines.slice(-LAST_LINES) };
}

export function inSeconds(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
