/**
 * `watch` and `makeFolder` register servers and temporary folders with a watchdog process. `keepFolder` prepares a folder
 * that stays. This module does not kill anything itself.
 *
 * Invariant: no server or temporary folder outlives this process, however it ends. Handlers for `exit` and signals are
 * not enough, because nothing runs after kill -9. `setpriv --pdeathsig` reaches only the direct child, and its signal
 * comes when a thread ends, not the process. So one watchdog per process waits for the end of a pipe.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";

import { ServiceError } from "../servers/service-error.ts";

export type WatchdogCommand = { watch: number } | { forget: number } | { keep: string } | { removed: string };

/** Node opens its ends of the pipes as sockets, but its types don't show it. */
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
    // In its own session, because Ctrl-C in a terminal reaches our whole session and the watchdog must outlive us.
    detached: true,
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"] },
  }) as Watchdog;
  // A write to a dead watchdog must not crash this process: a new one is started below.
  child.stdin.on("error", () => undefined);
  return child;
}

/** Starts no server before the watchdog has answered: a crash in between would leave the server running. */
async function startWatchdog(): Promise<void> {
  const child = spawnWatchdog();
  present = child;
  // Send immediately, before the watchdog answers: the pipe buffers the commands.
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
      `no server is started, because the watchdog failed to start: ${String(error)}`,
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

/** Creates the temporary folder of a server. Every server start begins with it, or with `keepFolder`. */
export async function makeFolder(prefix: string): Promise<string> {
  await ensureWatchdog();
  const folder = mkdtempSync(join(tmpdir(), `turnstream-${prefix}-`));
  folders.add(folder);
  send({ keep: folder });
  return folder;
}

/** Prepares a folder of the user for a server. Neither `removeFolder` nor the watchdog removes it. */
export async function keepFolder(path: string): Promise<string> {
  await ensureWatchdog();
  const folder = resolve(path);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Removes a folder of `makeFolder`, and no other. */
export function removeFolder(folder: string): void {
  if (!folders.has(folder)) return;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  folders.delete(folder);
  send({ removed: folder });
}
