/**
 * `runCommand` runs a command as a new user types it and waits for its end. `startCommand` starts one that runs until
 * Ctrl-C, and waits for the address that it prints.
 * Invariant: a command gets none of this repository's settings, commands or servers, and no API key. No process
 * outlives this one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { killTree } from "@turnstream/testkit/processes/process-tree.ts";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";

interface CommandOptions {
  readonly folder: string;
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

const INSTALL_MS = 300_000;
const START_MS = 120_000;
const STOP_MS = 15_000;

/** @returns what the command wrote to standard output, and how long it ran */
export async function runCommand(
  command: string,
  options: CommandOptions,
): Promise<{ output: string; seconds: number }> {
  const started = performance.now();
  const { child, read } = spawnCommand(command, options);
  let output = "";
  child.stdout.on("data", (text: string) => (output += text));
  const late = setTimeout(() => killTree(child.pid ?? 0), INSTALL_MS);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(late);
  if (code !== 0) throw new Error(`\`${command}\` ended with ${code ?? "a signal"}:\n${read()}`);
  return { output, seconds: (performance.now() - started) / 1_000 };
}

export interface StartedCommand {
  /** The first address that the command printed. */
  readonly url: string;
  /** What it has printed so far. */
  read(): string;
  /** Sends Ctrl-C and waits for the end. */
  interrupt(): Promise<void>;
}

export async function startCommand(command: string, options: CommandOptions): Promise<StartedCommand> {
  const { child, read } = spawnCommand(command, options);
  const ended = once(child, "close");
  const url = await findUrl(child, read).catch((error: unknown) => {
    killTree(child.pid ?? 0);
    throw new Error(`\`${command}\` ${String(error)}:\n${read()}`);
  });
  return {
    url,
    read,
    async interrupt() {
      const late = setTimeout(() => killTree(child.pid ?? 0), STOP_MS);
      // A terminal sends Ctrl-C to the whole process group.
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), "SIGINT");
      await ended;
      clearTimeout(late);
    },
  };
}

function spawnCommand(command: string, { folder, env = {} }: CommandOptions) {
  const [file = "", ...args] = command.split(" ");
  const child = spawn(file, args, {
    cwd: folder,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...userEnv(), ...env },
  });
  const { pid } = child;
  if (pid !== undefined) {
    watch(pid);
    child.once("close", () => forget(pid));
  }
  const pieces: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => pieces.push(text));
  return { child, read: () => stripVTControlCharacters(pieces.join("")) };
}

/** `npm run` adds the settings and commands of this repository to the environment. */
function userEnv(): NodeJS.ProcessEnv {
  const isOurs =
    /^(npm_|INIT_CWD|NODE_OPTIONS|NODE_ENV|NODE_COMPILE_CACHE|DATABASE_URL|REDIS_URL|TURNSTREAM_|PORT$|CI$)|_API_KEY$/;
  const rest = Object.entries(process.env).filter(([name]) => !isOurs.test(name));
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.endsWith(".bin"));
  // The user answers "yes" when npm asks whether to install `create-turnstream`.
  return {
    ...Object.fromEntries(rest),
    PATH: path.join(delimiter),
    npm_config_yes: "true",
    NO_COLOR: "1",
    NEXT_TELEMETRY_DISABLED: "1",
  };
}

async function findUrl(child: ChildProcess, read: () => string): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const look = (): void => {
      const url = /http:\/\/(?:localhost|127[.]0[.]0[.]1):\d+/.exec(read())?.[0];
      if (url === undefined) return;
      clearTimeout(late);
      resolve(url);
    };
    const late = setTimeout(() => reject("printed no address in time"), START_MS);
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", look);
    child.once("close", (code) => reject(`ended with ${code ?? "a signal"}`));
  });
}
