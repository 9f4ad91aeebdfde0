/**
 * Writes the JSON Schema of every event, frame and command into `schemas/`, for clients in other languages.
 * With `--check` it writes nothing and fails if a file is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { schemaFiles } from "./schema-files.ts";

const folder = new URL("../schemas/", import.meta.url);
const isCheck = process.argv.includes("--check");
const stale: string[] = [];

for (const [name, text] of schemaFiles()) {
  const file = new URL(name, folder);
  if (isCheck) {
    if (readFileSync(file, "utf8") !== text) stale.push(name);
  } else writeFileSync(file, text);
}

if (stale.length > 0) {
  console.error(`out of date: ${stale.join(", ")}. Run \`npm run schemas\`.`);
  process.exitCode = 1;
}
