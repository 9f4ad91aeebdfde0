/**
 * `lockFolder` reserves a folder for this process, with a file that contains the process id and when the process started.
 * Invariant: the file of a live process is never replaced, also if another thread of this process wrote it. That of a
 * dead process is, even if its id is used again, so a killed process leaves nothing that has to be deleted by hand.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Another process, or this one, uses the folder. */
export class FolderInUse extends Error {
  readonly pid: number;

  constructor(pid: number) {
    super(`process ${pid} uses the folder`);
    this.name = "FolderInUse";
    this.pid = pid;
  }
}

interface Owner {
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** A container can give every process of ours the same id. Two starts are further apart than two readings of the clock. */
const SAME_START_MS = 500;

/**
 * @param file the path of the file, in an existing folder
 * @returns the function that releases the folder
 * @throws FolderInUse
 */
export function lockFolder(file: string): () => void {
  const owner = readOwner(file);
  if (owner !== null && isAlive(owner)) throw new FolderInUse(owner.pid);
  if (owner !== null) rmSync(file, { force: true });
  // Fails if another process has created it meanwhile.
  writeFileSync(file, `${process.pid} ${startOfProcess()}\n`, { flag: "wx" });
  return () => {
    if (readOwner(file)?.pid === process.pid) rmSync(file, { force: true });
  };
}

function readOwner(file: string): Owner | null {
  try {
    const [pid = Number.NaN, startedAt = Number.NaN] = readFileSync(file, "utf8").split(" ").map(Number);
    return { pid, startedAt };
  } catch {
    return null;
  }
}

function isAlive({ pid, startedAt }: Owner): boolean {
  if (pid === process.pid) return Math.abs(startedAt - startOfProcess()) < SAME_START_MS;
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // Another user's process.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The same in all threads, unlike `performance.timeOrigin`. */
function startOfProcess(): number {
  return Math.round(Date.now() - process.uptime() * 1_000);
}
