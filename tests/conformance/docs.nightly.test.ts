/** Compiles the TypeScript in the documents, runs its programs and compares their output. Plants errors in both. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { checkCode, checkOutput } from "./support/doc-code.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const PATHS = ["*.md", "{docs,conformance}/**/*.md", "packages/*/README.md", "examples/*/*.md"];
const DOCUMENTS = globSync(PATHS, { cwd: root }).toSorted();

/** Errors that are planted in the code of README.md: a name, a text, and what replaces it. */
const PLANTED_CODE = [
  ["code that doesn't compile", "defineAgent({", "defineAgents({"],
  ["a page that doesn't compile", "<Chat ", "<Chat session "],
] as const;

/** The errors of the compiler, by document and by name of a planted error. All code is compiled at once. */
const codeProblems = new Map<string, string[]>();
beforeAll(() => {
  const planted = PLANTED_CODE.map(([, from, to]) => read("README.md").replace(from, to));
  const problems = checkCode([...DOCUMENTS.map(read), ...planted]);
  const names = [...DOCUMENTS, ...PLANTED_CODE.map(([name]) => name)];
  names.forEach((name, n) => codeProblems.set(name, problems[n] ?? []));
});

test.each(DOCUMENTS)("the TypeScript of %s compiles and prints its output", (path) => {
  expect([...(codeProblems.get(path) ?? []), ...checkOutput(read(path))]).toEqual([]);
});

test.each(PLANTED_CODE)("the compiler finds %s in README.md", (name, from) => {
  expect(read("README.md")).toContain(from);
  expect(codeProblems.get(name)).not.toEqual([]);
});

test("output that differs from the page is found", () => {
  const text = read("docs/resuming.md").replace("The ridge path is open.\n", "The ridge path is closed.\n");
  expect(text).not.toBe(read("docs/resuming.md"));
  expect(checkOutput(text)).not.toEqual([]);
});
