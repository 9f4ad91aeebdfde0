/**
 * Writes the dump of a new data folder before the first test, if a build or an earlier run has not. Without it, each test
 * that calls `turnstream()` creates all tables.
 */
// Imported by path: vitest resolves its global setup without our export condition.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { baseline } from "../../server/src/store/database/migrations/0001-baseline.ts";
import { dumpFile } from "../src/open-dev-database.ts";

const SCRIPT = join(import.meta.dirname, "../scripts/write-dump.ts");

export function setup(): void {
  if (existsSync(dumpFile(baseline.name))) return;
  execFileSync(process.execPath, ["--conditions=@turnstream/source", SCRIPT], { stdio: "inherit" });
}
