/**
 * `initialize` creates the folder of a PostgreSQL server, and `isReady` reads the server's state from it. PostgreSQL
 * refuses to run as root; then the folder belongs to the user of Debian's package. Does not start a server.
 */
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { ServiceError } from "./service-error.ts";
import type { Owner } from "./server-process.ts";
import { isAlive } from "../processes/process-tree.ts";
import { removeFolder } from "../processes/watch.ts";

const run = promisify(execFile);

export const SUPERUSER = "postgres";

async function idOf(flag: "-u" | "-g"): Promise<number> {
  const { stdout } = await run("id", [flag, SUPERUSER]);
  return Number(stdout);
}

/** @returns undefined to run as the current user */
export async function findOwner(): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  try {
    return { uid: await idOf("-u"), gid: await idOf("-g") };
  } catch (error) {
    throw new ServiceError(
      "binary_missing",
      `PostgreSQL doesn't run as root and there is no user ${SUPERUSER}: apt-get install postgresql`,
      { cause: error },
    );
  }
}

const dataOf = (folder: string) => join(folder, "data");
const lockOf = (folder: string) => join(dataOf(folder), "postmaster.pid");

/** Creates the database files unless the folder has them from an earlier start. @returns the data folder */
export async function initialize(folder: string, initdb: string, owner: Owner | undefined): Promise<string> {
  chmodSync(folder, 0o700);
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const data = dataOf(folder);
  if (existsSync(data)) return data;
  // Under another name first, so that the files of an interrupted start are not used.
  const half = `${data}.new`;
  rmSync(half, { recursive: true, force: true });
  const args = ["-D", half, "-A", "trust", "-U", SUPERUSER, "-E", "UTF8", "--no-locale", "--no-sync"];
  try {
    await run(initdb, args, { ...owner, cwd: folder });
  } catch (error) {
    removeFolder(folder);
    const message = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
    throw new ServiceError("start_failed", `initdb failed:\n${message.trimEnd()}`, { cause: error });
  }
  renameSync(half, data);
  return data;
}

/**
 * The lock file of the running server: its process id on line 1, key and id of its shared memory on line 7, its state
 * on line 8.
 */
function readLock(folder: string): string[] {
  try {
    return readFileSync(lockOf(folder), "utf8").split("\n");
  } catch {
    return [];
  }
}

export function isReady(folder: string, pid: number): boolean {
  const lines = readLock(folder);
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}

/**
 * Removes what a server leaves behind after kill -9: a lock, which blocks a restart if another process gets the same
 * id, and a shared memory segment, of which the system has only a few thousand. Does nothing in the folder of a server
 * that was stopped normally, or that runs.
 */
export function cleanUpAfterKill(folder: string): void {
  const [pid = ""] = readLock(folder);
  if (isAlive(Number(pid))) return;
  const [, memory] = readLock(folder)[6]?.trim().split(/\s+/) ?? [];
  if (memory !== undefined) spawnSync("ipcrm", ["--shmem-id", memory], { stdio: "ignore" });
  rmSync(lockOf(folder), { force: true });
}
