/**
 * `findRedis`, `findNginx`, `findPgBouncer` and `findPostgres` find the programs of Debian's packages. They throw if one is missing. Do
 * not install anything.
 */
import { accessSync, constants, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

import { ServiceError } from "./service-error.ts";

/** Debian's folder for PostgreSQL: one subfolder per major version, none of them on PATH. */
const POSTGRES_VERSIONS = "/usr/lib/postgresql";

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function find(name: string, debianPackage: string, folders: string[]): string {
  const found = folders.map((folder) => join(folder, name)).find(isProgram);
  if (found !== undefined) return found;
  throw new ServiceError(
    "binary_missing",
    `${name} is not installed: apt-get install ${debianPackage} (looked in ${folders.join(", ")})`,
  );
}

function foldersOf(path: string): string[] {
  return path.split(delimiter).filter((folder) => folder !== "");
}

function postgresFolders(): string[] {
  let versions: string[];
  try {
    versions = readdirSync(POSTGRES_VERSIONS);
  } catch {
    return [];
  }
  return versions
    .toSorted((one, other) => Number(other) - Number(one))
    .map((version) => join(POSTGRES_VERSIONS, version, "bin"));
}

export function findRedis(path: string = process.env["PATH"] ?? ""): string {
  return find("redis-server", "redis-server", foldersOf(path));
}

/** Debian installs nginx in a folder that is only on root's PATH. */
export function findNginx(path: string = `${process.env["PATH"] ?? ""}${delimiter}/usr/sbin`): string {
  return find("nginx", "nginx", foldersOf(path));
}

/** Debian installs pgbouncer in a folder that is only on root's PATH. */
export function findPgBouncer(path: string = `${process.env["PATH"] ?? ""}${delimiter}/usr/sbin`): string {
  return find("pgbouncer", "pgbouncer", foldersOf(path));
}

/** Finds the newest version that Debian has installed, or the one on PATH. */
export function findPostgres(
  folders: string[] = [...postgresFolders(), ...foldersOf(process.env["PATH"] ?? "")],
): { initdb: string; postgres: string } {
  const initdb = find("initdb", "postgresql", folders);
  // Must have the same version as initdb, whichever version is on PATH.
  return { initdb, postgres: find("postgres", "postgresql", [join(initdb, "..")]) };
}
