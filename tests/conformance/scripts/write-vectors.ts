/**
 * Writes the language-neutral vectors below `tests/conformance/vectors`, and removes files that are no vectors.
 * With `--check` it writes nothing and fails if a file is missing, out of date or no vector.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { vectorFiles } from "../scenarios/write/files.ts";

const folder = join(import.meta.dirname, "../vectors");
const files = vectorFiles();
const onDisk = globSync("**/*.json", { cwd: folder });

const superfluous = onDisk.filter((path) => !files.has(path));
const stale = [...files].filter(
  ([path, text]) => !onDisk.includes(path) || readFileSync(join(folder, path), "utf8") !== text,
);

if (process.argv.includes("--check")) {
  for (const [path] of stale) console.error(`out of date: ${path}`);
  for (const path of superfluous) console.error(`not a vector: ${path}`);
  process.exitCode = stale.length + superfluous.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of stale) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  for (const path of superfluous) rmSync(join(folder, path));
}

const bytes = [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
console.log(`${files.size} files, ${Math.round(bytes / 1024)} KB, ${stale.length} changed`);
