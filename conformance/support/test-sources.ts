/** `readTestSources` reads every test file of the repository, to compare it with the numbered requirements. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { TestSource } from "../coverage.ts";

const root = join(import.meta.dirname, "../..");
/** Contracts are suites that test files run on several implementations. */
const TESTS = [
  "packages/*/test/**/*.{test,contract}.{ts,tsx}",
  "conformance/**/*.test.ts",
  "examples/**/*.test.{ts,tsx}",
  "browser/**/*.test.ts",
  "gallery/**/*.test.ts",
];

export function readTestSources(): TestSource[] {
  const paths = globSync(TESTS, { cwd: root, exclude: ["**/node_modules"] }).toSorted();
  return paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}
