/**
 * `runCommand` runs one command of the toolchain and prints its output. It does not throw if the command fails.
 * `runSteps` runs several, one after the other, and sets the exit code.
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
}

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
      if (isBuffered) lines.push(line);
      else console.log(line);
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
  return { ok, seconds: (performance.now() - started) / 1000 };
}

interface Step {
  readonly name: string;
  readonly command: string;
  readonly folder?: string;
}

/** Runs all steps, even if one fails. The exit code is 0 only if none failed. */
export async function runSteps(steps: readonly Step[]): Promise<void> {
  const failed: string[] = [];
  for (const { name, command, folder = "." } of steps) {
    console.log(`\n[check] ${name}: ${command}`);
    const { ok, seconds } = await runCommand(command, { folder });
    if (!ok) failed.push(name);
    console.log(`[check] ${name}: ${ok ? "ok" : "FAILED"}, ${inSeconds(seconds)}`);
  }
  console.log(failed.length === 0 ? "\n[check] all ok" : `\n[check] failed: ${failed.join(", ")}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

export function inSeconds(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
