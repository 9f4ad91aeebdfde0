/**
 * `lockFolder` reserves a folder for this process, with a file that contains the process id.
 * Invariant: the file of a live process is never replaced. That of a dead process is, so a killed process leaves nothing
 * that has to be deleted by hand.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Another process uses the folder. */
export class FolderInUse extends Error {
  readonly pid: number;

  constructor(pid: number) {
    super(`process ${pid} uses the folder`);
    this.name = "FolderInUse";
    this.pid = pid;
  }
}

/**
 * @param file the path of the file, in an existing folder
 * @returns the function that releases the folder
 * @throws FolderInUse
 */
export function lockFolder(file: string): () => void {
  const pid = readPid(file);
  if (pid !== null && pid !== process.pid && isAlive(pid)) throw new FolderInUse(pid);
  if (pid !== null) rmSync(file, { force: true });
  // Fails if another process has created it meanwhile.
  writeFileSync(file, `${process.pid}\n`, { flag: "wx" });
  return () => {
    if (readPid(file) === process.pid) rmSync(file, { force: true });
  };
}

function readPid(file: string): number | null {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10);
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // Another user's process.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
