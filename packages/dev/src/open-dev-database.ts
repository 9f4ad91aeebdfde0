/**
 * `openDevDatabase` opens PostgreSQL inside this process, with its data in a folder: PGlite. A new folder starts with the
 * dump that `npm run build` puts into this package.
 *
 * Invariant: a dump is loaded only by the version of PGlite that wrote it, and only for the tables that it has; its name
 * contains both. Without such a dump a new folder is empty. A folder whose creation was interrupted is created again.
 */
import { existsSync, openAsBlob, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PGlite } from "@electric-sql/pglite";
import { createPgConfig, type PGlitePgConfig } from "@electric-sql/pglite/node-postgres";

export interface DevDatabase {
  readonly pglite: PGlite;
  /** For one pool of `pg` with one connection, because PGlite has one session. */
  readonly pgConfig: PGlitePgConfig;
}

/** What a server for many users needs, one user doesn't: with PostgreSQL's defaults, PGlite takes 120 MB more. */
const SETTINGS = {
  shared_buffers: "8MB",
  max_wal_size: "8MB",
  min_wal_size: "2MB",
};
const START_PARAMS = [
  ...PGlite.defaultStartParams,
  ...Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
];
const INITDB_PARAMS = ["--wal-segsize=1"];

/**
 * @param folder an existing folder, which nothing else opens
 * @param baseline the name of the tables that the dump must have
 * @throws the error of PGlite if it can't read the folder
 */
export async function openDevDatabase(folder: string, baseline: string): Promise<DevDatabase> {
  const data = join(folder, "pglite");
  const unfinished = join(folder, "unfinished");
  if (existsSync(unfinished)) rmSync(data, { recursive: true, force: true });
  const isNew = !existsSync(data);
  if (isNew) writeFileSync(unfinished, "");
  const dump = dumpFile(baseline);
  const pglite = await PGlite.create(data, {
    startParams: START_PARAMS,
    initDbStartParams: INITDB_PARAMS,
    ...(isNew && existsSync(dump) && { loadDataDir: await openAsBlob(dump, { type: "application/gzip" }) }),
  });
  rmSync(unfinished, { force: true });
  return { pglite, pgConfig: createPgConfig(pglite) };
}

/** Returns the path of the dump with these tables, for the installed PGlite. */
export function dumpFile(baseline: string): string {
  return fileURLToPath(new URL(`../dist/pglite-${readVersion()}-${baseline}.tar.gz`, import.meta.url));
}

function readVersion(): string {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const manifest = readFileSync(join(entry, "../../package.json"), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
