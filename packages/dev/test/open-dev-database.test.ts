/** Tests that a new folder starts with the dump of its tables, and with no other. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { baseline } from "../../server/src/store/database/migrations/0001-baseline.ts";
import { dumpFile, openDevDatabase } from "../src/open-dev-database.ts";

const version = manifest.dependencies["@electric-sql/pglite"];

async function listSchemas(name: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), "turnstream-dev-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { pglite } = await openDevDatabase(folder, name);
  const { rows } = await pglite.query("select nspname from pg_namespace where nspname = 'turnstream'");
  await pglite.close();
  expect(existsSync(join(folder, "unfinished"))).toBe(false);
  return rows;
}

test("a new folder has the tables of the dump for this version of PGlite", async () => {
  expect(basename(dumpFile(baseline.name))).toBe(`pglite-${version}-${baseline.name}.tar.gz`);
  expect(await listSchemas(baseline.name)).toHaveLength(1);
});

test("without a dump of its tables, a new folder is empty", async () => {
  expect(await listSchemas("0001-baseline-0")).toHaveLength(0);
});
