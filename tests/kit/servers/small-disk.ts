/**
 * `mountSmallDisk` mounts a small filesystem in memory that a test can fill, to run a server on a full disk. It needs
 * root, or `sudo` without a password.
 *
 * Invariant: `unmount` removes everything. The name of the folder contains the id of this process, so the next call
 * removes what a killed process has left.
 */
import { execFile } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { mkdtemp, readFile, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isAlive } from "../processes/process-tree.ts";

const run = promisify(execFile);
const PREFIX = "turnstream-disk-";

export interface SmallDisk {
  readonly folder: string;
  /** Takes all free space. Call it again to take what was freed since. */
  fill(): void;
  /** Frees the space that `fill` has taken. */
  free(): Promise<void>;
  /** Call it after the servers on the disk have stopped. */
  unmount(): Promise<void>;
}

export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  await removeLeftovers();
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  await runAsRoot("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=0755`, "tmpfs", folder);
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill: () => fill(ballast),
    free: () => rm(ballast, { force: true }),
    unmount: () => unmount(folder),
  };
}

/** Writes smaller and smaller pieces until not even one byte fits. */
function fill(file: string): void {
  const handle = openSync(file, "a");
  try {
    for (let size = 2 ** 20; size >= 1; size = size >> 2) {
      const piece = Buffer.alloc(size);
      try {
        while (writeSync(handle, piece) === size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    }
  } finally {
    closeSync(handle);
  }
}

async function unmount(folder: string): Promise<void> {
  // Lazily: a process that ends may still have a file open.
  await runAsRoot("umount", "-l", folder);
  await rmdir(folder);
}

async function removeLeftovers(): Promise<void> {
  const mounts = await readFile("/proc/mounts", "utf8");
  const pattern = new RegExp(`^tmpfs (\\S+/${PREFIX}(\\d+)-\\S+) `, "gm");
  for (const [, folder = "", pid = ""] of mounts.matchAll(pattern))
    if (!isAlive(Number(pid))) await unmount(folder);
}

async function runAsRoot(program: string, ...args: string[]): Promise<void> {
  if (process.getuid?.() === 0) await run(program, args);
  else await run("sudo", ["-n", program, ...args]);
}
