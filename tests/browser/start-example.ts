/** `startExample` starts an example with its command for a test, as a user does, and stops it with Ctrl-C. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Started {
  readonly url: string;
  /** The process of the command. Its children are the processes of the example. */
  readonly pid: number;
  /** The output so far, with that of errors. */
  readonly lines: readonly string[];
  /** The process id that was last printed for this name, such as "Worker". */
  pidOf(name: string): number;
  /** Sends Ctrl-C, as a terminal does. */
  interrupt(): Promise<void>;
}

const READY_MS = 90_000;

/** @param folder the name of its folder */
export async function startExample(folder: string, args: readonly string[]): Promise<Started> {
  const child = spawn("npm", ["start", "--silent", "--", ...args], {
    cwd: join(import.meta.dirname, "../../examples", folder),
    // A terminal starts a command in its own process group, and Ctrl-C reaches the whole group.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, DATABASE_URL: "", REDIS_URL: "", ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "" },
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const ready = new AbortController();
  const late = tooLate(child, lines, ready.signal);
  const url = await Promise.race([addressIn(reader), late]);
  late.catch(() => undefined);
  ready.abort();
  return {
    url,
    pid: child.pid ?? 0,
    lines,
    pidOf(name) {
      const line = lines.findLast((one) => one.trimStart().startsWith(name) && /process \d+/.test(one));
      const pid = /process (\d+)/.exec(line ?? "")?.[1];
      if (pid === undefined)
        throw new Error(`the output contains no process id of ${name}:\n${lines.join("\n")}`);
      return Number(pid);
    },
    async interrupt() {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      const ended = once(child, "exit");
      process.kill(-child.pid, "SIGINT");
      await ended;
    },
  };
}

async function addressIn(reader: AsyncIterable<string> & NodeJS.EventEmitter): Promise<string> {
  return await new Promise((resolve) => {
    reader.on("line", (line: string) => {
      const url = /Open (http:\S+)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}

/** Rejects if the process exits or times out before it is ready. */
async function tooLate(child: ChildProcess, lines: readonly string[], ready: AbortSignal): Promise<never> {
  const late = AbortSignal.timeout(READY_MS);
  const signal = AbortSignal.any([late, ready]);
  const [code] = (await once(child, "exit", { signal }).catch(() => [null])) as [number | null];
  const why = late.aborted ? "It was not ready in time" : `It exited with ${code}`;
  if (late.aborted && !ready.aborted && child.pid !== undefined) process.kill(-child.pid, "SIGINT");
  throw new Error(`${why}:\n${lines.join("\n")}`);
}
