/** A program of ours in a process of its own, that is there to be killed. Never starts one again by itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { forget, watch } from "@turnstream/testkit/processes/watch.ts";

/** @returns once it says that it is ready */
export async function startChild(script: string, settings: object): Promise<ChildProcess> {
  const file = join(import.meta.dirname, "processes", script);
  const args = ["--conditions=@turnstream/source", file, JSON.stringify(settings)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const { pid } = child;
  if (pid !== undefined) watch(pid);
  child.once("exit", () => {
    if (pid !== undefined) forget(pid);
  });
  await Promise.race([once(child, "message"), once(child, "exit")]);
  if (child.exitCode !== null) throw new Error(`${script} has ended by itself`);
  return child;
}

/** kill -9: its connections are gone in the same moment. */
export async function killChild(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
