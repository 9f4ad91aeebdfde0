/**
 * `npm run contract -- REVISION` shows what changed since a revision in the files that other programs depend on:
 * vectors, JSON Schemas, recorded stories and migrations. It ignores texts under `description`. It exits with 1 if
 * anything differs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { root } from "./run-command.ts";

const FOLDERS = ["tests/conformance/vectors", "tests/conformance/stories", "packages/protocol/schemas"];
const MIGRATIONS = "packages/server/src/store/database/migrations";

const git = (...args: string[]): string =>
  execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 });

function isContract(file: string): boolean {
  return /[.](json|ndjson)$/.test(file) || (file.startsWith(MIGRATIONS) && file.endsWith(".ts"));
}

function listFiles(revision: string): string[] {
  return git("ls-tree", "-r", "--name-only", revision, ...FOLDERS, MIGRATIONS)
    .split("\n")
    .filter(isContract);
}

/** Drops every `description` at any depth. */
function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(
    ([key, field]) => key !== "description" || typeof field !== "string",
  );
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutDescriptions(field)]));
}

function parse(file: string, text: string): unknown {
  if (file.endsWith(".json")) return withoutDescriptions(JSON.parse(text));
  if (file.endsWith(".ndjson"))
    return text
      .trim()
      .split("\n")
      .map((line) => withoutDescriptions(JSON.parse(line)));
  // Of a migration only its statements count, not its comments and imports.
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^import .*$|^\s*\/\/.*$/gm, "").replaceAll(/\s+/g, " ");
}

const [revision] = process.argv.slice(2);
if (revision === undefined) throw new Error("The revision is missing. Example: npm run contract -- HEAD~20");

const before = listFiles(revision);
const now = new Set(listFiles("HEAD"));
const differing: string[] = [];
for (const file of before) {
  if (!now.has(file) || !existsSync(join(root, file))) differing.push(`${file}: missing`);
  else if (
    !isDeepStrictEqual(
      parse(file, git("show", `${revision}:${file}`)),
      parse(file, readFileSync(join(root, file), "utf8")),
    )
  )
    differing.push(`${file}: differs`);
}
const added = [...now].filter((file) => !before.includes(file));
for (const file of added) differing.push(`${file}: added`);

for (const line of differing) console.log(line);
console.log(`${before.length} files compared with ${revision}, ${differing.length} differ`);
if (before.length === 0) throw new Error(`${revision} has none of these files.`);
process.exitCode = differing.length === 0 ? 0 : 1;
