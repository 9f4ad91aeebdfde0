/**
 * `writeDump` writes the database with which a new data folder starts, for the installed PGlite and the tables of this
 * version. `npm run build` runs it.
 *
 * Invariant: other processes may write and read the dump at the same time, so it is complete when it gets its name.
 */
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { dumpFile, openDevDatabase } from "@turnstream/dev";
import { baseline, connectDevDatabase, migrate } from "@turnstream/server/internal";

/** No dump has this name. */
const EMPTY = "empty";

/** PGlite starts without the templates, which are half of the files, and with one WAL segment instead of ten. */
const SHRINK = `
  update pg_database set datistemplate = false;
  drop database template0;
  drop database template1;
  set wal_recycle = off;
  vacuum full;
  checkpoint;
  checkpoint;
`;

/** @returns the path of the dump */
export async function writeDump(): Promise<string> {
  const file = dumpFile(baseline.name);
  const folder = mkdtempSync(join(tmpdir(), "turnstream-dump-"));
  try {
    const database = await openDevDatabase(folder, EMPTY);
    const db = await connectDevDatabase(database);
    await migrate(db);
    for (const statement of SHRINK.split(";\n")) await database.pglite.exec(statement);
    const dump = await database.pglite.dumpDataDir("gzip");
    await db.destroy();
    mkdirSync(dirname(file), { recursive: true });
    for (const other of globSync(join(dirname(file), "pglite-*.tar.gz"))) rmSync(other, { force: true });
    writeFileSync(`${file}.${process.pid}`, new Uint8Array(await dump.arrayBuffer()));
    renameSync(`${file}.${process.pid}`, file);
    return file;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await writeDump();
