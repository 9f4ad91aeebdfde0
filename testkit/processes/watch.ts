/**
 * Sees to it that no server and no temporary folder outlives this process, however it ends. Ending them on
 * `exit` and on signals would not do: nothing in a process runs after kill -9. `setpriv --pdeathsig` reaches
 * only the direct child, and its signal comes when a thread ends, not a process. So one watchdog for each
 * process that starts servers waits for the end of a pipe. Never ends anything itself.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { ServiceError } from "../servers/service-error.ts";

export type WatchdogCommand = { watch: number } | { forget: number } | { keep: string } | { removed: string };

/** Node opens its ends of the pipes as sockets, which its types don't say. */
type Watchdog = ChildProcess & { stdin: Socket; stdout: Socket; stderr: Socket };

const pids = new Set<number>();
const folders = new Set<string>();
let starting: Promise<void> | undefined;
let present: Watchdog | undefined;

function send(order: WatchdogCommand): void {
  present?.stdin.write(`${JSON.stringify(order)}\n`);
}

function spawnWatchdog(): Watchdog {
  const child = spawn(process.execPath, [join(import.meta.dirname, "watchdog.ts")], {
    // A session of its own: Ctrl-C in a terminal goes to all of ours, and it has to outlive us.
    detached: true,
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"] },
  }) as Watchdog;
  // Who writes to a dead watchdog must not die of it: a new one is started below.
  child.stdin.on("error", () => undefined);
  return child;
}

/** Nothing is started before the watchdog has said that it is there: a crash in between would leave it behind. */
async function startWatchdog(): Promise<void> {
  const child = spawnWatchdog();
  present = child;
  // At once, not when it is there: the pipe keeps it.
  for (const pid of pids) send({ watch: pid });
  for (const folder of folders) send({ keep: folder });
  const stderr = text(child.stderr);
  try {
    await Promise.race([
      once(child.stdout, "data"),
      once(child, "exit").then(async () => {
        throw new Error(await stderr);
      }),
    ]);
  } catch (error) {
    throw new ServiceError(
      "start_failed",
      `no server is started, since its watchdog didn't start: ${String(error)}`,
    );
  }
  child.once("exit", () => {
    starting = undefined;
    if (pids.size > 0) void ensureWatchdog();
  });
  child.unref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.unref();
}

async function ensureWatchdog(): Promise<void> {
  starting ??= startWatchdog();
  try {
    await starting;
  } catch (error) {
    starting = undefined;
    throw error;
  }
}

export function watch(pid: number): void {
  pids.add(pid);
  send({ watch: pid });
}

export function forget(pid: number): void {
  pids.delete(pid);
  send({ forget: pid });
}

/** The first step of every server. */
export async function makeFolder(prefix: string): Promise<string> {
  await ensureWatchdog();
  const folder = mkdtempSync(join(tmpdir(), `turnstream-${prefix}-`));
  folders.add(folder);
  send({ keep: folder });
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  folders.delete(folder);
  send({ removed: folder });
}
