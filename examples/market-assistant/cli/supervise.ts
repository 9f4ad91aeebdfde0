/**
 * A process of the example: started, and started again when it ends by itself, such as by `kill -9`. It leaves when it is
 * told to, or when whoever started it is gone.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Told } from "../processes/process-life.ts";

export interface Supervised {
  readonly pid: number;
  /** What it said when it was ready first. */
  readonly ready: string;
  leave(): Promise<void>;
}

export interface Program {
  readonly name: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

const AGAIN_MS = 300;
const LEAVE_MS = 10_000;

export class StartError extends Error {}

export async function supervise(program: Program): Promise<Supervised> {
  const { name, say } = program;
  let child: ChildProcess;
  let isLeaving = false;
  let again: ReturnType<typeof setTimeout> | undefined;

  async function start(): Promise<string> {
    child = launch(program);
    const current = child;
    const said = await firstWord(current);
    if (isLeaving) return "";
    if ("failed" in said) throw new StartError(said.failed);
    current.once("exit", (code, signal) => {
      if (isLeaving) return;
      say(`${name} ended (${signal ?? code}): starting it again`);
      restart();
    });
    return said.ready;
  }

  function restart(): void {
    if (isLeaving) return;
    again = setTimeout(() => {
      start().then(
        () => say(`${name} is back (process ${child.pid})`),
        (error: unknown) => {
          say(`${name} did not start: ${error instanceof Error ? error.message : String(error)}`);
          restart();
        },
      );
    }, AGAIN_MS);
  }

  const ready = await start();
  return {
    get pid() {
      return child.pid ?? 0;
    },
    ready,
    async leave() {
      isLeaving = true;
      clearTimeout(again);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      if (child.connected) child.disconnect();
      const late = setTimeout(() => child.kill("SIGKILL"), LEAVE_MS);
      await ended;
      clearTimeout(late);
    },
  };
}

function launch({ file, env }: Program): ChildProcess {
  return fork(join(import.meta.dirname, "../processes", file), {
    env: { ...process.env, ...env },
    // A session of its own: Ctrl-C is for us, and we end everything in our order.
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

async function firstWord(child: ChildProcess): Promise<Told> {
  const said = once(child, "message").then(([told]) => told as Told);
  const ended = once(child, "exit").then(([code]): Told => ({ failed: `It ended with ${String(code)}.` }));
  return await Promise.race([said, ended]);
}
