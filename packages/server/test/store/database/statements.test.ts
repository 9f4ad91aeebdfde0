/** Tests that no SQL statement contains a text of a caller: values are parameters, and raw SQL is made of constants. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../../src/store");

/** What creates and deletes tables runs only what a package declares. */
const CREATES_TABLES = /migrations|^features[.]ts$|^database\/migrate[.]ts$/;

test("raw SQL is used in migrations and in constants of a module, and nowhere else", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !CREATES_TABLES.test(file),
  );
  const uses = files.flatMap((file) =>
    readFileSync(join(folder, file), "utf8")
      .split("\n")
      .filter((line) => /\bsql[.](raw|lit|val)\b|\bCompiledQuery\b/.test(line))
      .map((line) => `${file}: ${line}`),
  );
  expect(files.length).toBeGreaterThan(50);
  // A line that starts with `const` is outside of functions, so it has no arguments of callers.
  expect(uses.filter((use) => !/: const \w+ = sql[.]raw\(/.test(use))).toEqual([]);
});
