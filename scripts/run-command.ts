/** Runs one command of the toolchain with its output shown as it comes. Never throws on a failing command. */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

export const root = join(import.meta.dirname, "..");

interface CommandOptions {
  /** Relative to the root of the repository. */
  folder?: string;
  /** Lines of the command's standard output that are not shown. */
  hide?: RegExp;
}

interface CommandResult {
  ok: boolean;
  seconds: number;
}

const environment = {
  ...process.env,
  PATH: `${join(root, "node_modules", ".bin")}${delimiter}${process.env["PATH"] ?? ""}`,
};

export async function runCommand(command: string, options: CommandOptions = {}): Promise<CommandResult> {
  const { folder = ".", hide } = options;
  const [file = "", ...args] = command.split(" ");
  const started = performance.now();
  const child = spawn(file, args, {
    cwd: join(root, folder),
    env: environment,
    stdio: ["ignore", hide ? "pipe" : "inherit", "inherit"],
  });
  const ended = new Promise<boolean>((resolve) => {
    child.on("error", (error) => {
      console.error(error.message);
      resolve(false);
    });
    child.on("close", (code) => {
      resolve(code === 0);
    });
  });
  if (child.stdout) {
    for await (const line of createInterface({ input: child.stdout })) {
      if (!hide?.test(line)) console.log(line);
    }
  }
  return { ok: await ended, seconds: (performance.now() - started) / 1000 };
}

export function inSeconds(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
