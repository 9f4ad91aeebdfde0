/**
 * `supervise` starts a process of the example, and restarts it when it exits by itself, for example after `kill -9`.
 *
 * Invariant: the process stops on `leave()`, or when the process that started it exits.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ProcessMessage } from "../processes/process-life.ts";

export interface Supervised {
  readonly pid: number;
  /** The first ready message of the process. */
  readonly ready: string;
  leave(): Promise<void>;
}

export interface Program {
  readonly name: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  readonly print: (line: string) => void;
}

const AGAIN_MS = 300;
const LEAVE_MS = 10_000;

export class StartError extends Error {}

export async function supervise(program: Program): Promise<Supervised> {
  const { name, print } = program;
  let child: ChildProcess;
  let isLeaving = false;
  let again: ReturnType<typeof setTimeout> | undefined;

  async function start(): Promise<string> {
    child = launch(program);
    const current = child;
    const message = await firstMessage(current);
    if (isLeaving) return "";
    if ("failed" in message) throw new StartError(message.failed);
    current.once("exit", (code, signal) => {
      if (isLeaving) return;
      print(`${name} exited (${signal ?? code}): restarting it`);
      restart();
    });
    return message.ready;
  }

  function restart(): void {
    if (isLeaving) return;
    again = setTimeout(() => {
      start().then(
        () => print(`${name} restarted (process ${child.pid})`),
        (error: unknown) => {
          print(`${name} failed to start: ${error instanceof Error ? error.message : String(error)}`);
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
    // In its own session: Ctrl-C reaches only us, and we stop the processes in our order.
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

async function firstMessage(child: ChildProcess): Promise<ProcessMessage> {
  const message = once(child, "message").then(([received]) => received as ProcessMessage);
  const ended = once(child, "exit").then(([code]): ProcessMessage => ({
    failed: `It exited with ${String(code)}.`,
  }));
  return await Promise.race([message, ended]);
}
