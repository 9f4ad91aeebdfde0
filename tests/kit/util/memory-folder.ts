/**
 * `useMemoryFolder` puts the temporary folders of this process and of those that it starts into memory, if there is
 * enough of it. Copying a database or installing packages takes several times as long on a disk.
 */
import { existsSync, statfsSync } from "node:fs";

/** A file system in memory. Servers of tests use up to 5 GB of it. */
const MEMORY_FOLDER = "/dev/shm";
const MEMORY_FOLDER_BYTES = 8 * 2 ** 30;

export function useMemoryFolder(): void {
  if (!existsSync(MEMORY_FOLDER)) return;
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
  if (bavail * bsize >= MEMORY_FOLDER_BYTES) process.env["TMPDIR"] ??= MEMORY_FOLDER;
}
