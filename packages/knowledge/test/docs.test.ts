/** Checks that the code in the documents is the code that is compiled and run here. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

test.each(["import-knowledge.ts", "vector-search.ts"])("knowledge.md prints %s", (example) => {
  const code = read(`examples/${example}`).replace(/^\/\*\*.*?\*\/\n/s, "");
  expect(read("../../../docs/knowledge.md")).toContain(`\`\`\`ts\n${code}\`\`\``);
});
