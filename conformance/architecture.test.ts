/** Checks docs/architecture.md: its answers and the path of a token name existing files, and it lists every folder. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readLinks } from "./support/markdown.ts";

const docs = join(import.meta.dirname, "..", "docs");
const page = readFileSync(join(docs, "architecture.md"), "utf8");

/** The text under a heading of the second level. */
function readSection(text: string, heading: string): string {
  const [, after = ""] = text.split(`\n## ${heading}\n`);
  return after.split(/^## /m)[0] ?? "";
}

const findMissing = (links: readonly string[]): string[] =>
  links.filter((link) => !existsSync(join(docs, link)));

const QUESTIONS = [
  "Where is backpressure handled?",
  "Where does a slow client resync?",
  "What happens when a worker dies inside a tool call?",
  "Where is a share token checked?",
  "Where would I add a dialect?",
  "Where would I add a route?",
];

describe("docs/architecture.md", () => {
  test.each(QUESTIONS)("answers with files that exist: %s", (question) => {
    const row = readSection(page, "Where is …?")
      .split("\n")
      .find((line) => line.startsWith(`| ${question} |`));
    const links = readLinks(row ?? "");
    expect(links.length).toBeGreaterThan(0);
    expect(findMissing(links)).toEqual([]);
  });

  test("follows a token through at most ten files, and all exist", () => {
    const files = readLinks(readSection(page, "Life of a token"));
    expect(files.length).toBeGreaterThan(4);
    expect(files.length).toBeLessThanOrEqual(10);
    expect(findMissing(files)).toEqual([]);
  });

  test("a file that doesn't exist is reported", () => {
    const changed = page.replaceAll("fold/fold.ts)", "fold/folds.ts)");
    expect(findMissing(readLinks(readSection(changed, "Life of a token")))).toHaveLength(1);
  });

  const sourceFolders = ["protocol", "server", "client", "react"].map((name) => `packages/${name}/src`);
  const large = ["gateway", "runtime", "session"].map((name) => `packages/server/src/${name}`);

  test.each([...sourceFolders, ...large])("lists every folder of %s", (folder) => {
    const path = join(docs, "..", folder);
    const folders = readdirSync(path).filter((name) => statSync(join(path, name)).isDirectory());
    const links = new Set(readLinks(page));
    expect(folders.length).toBeGreaterThan(0);
    expect(folders.filter((name) => !links.has(`../${folder}/${name}`))).toEqual([]);
  });

  test.each(large)("%s has at most 16 entries", (folder) => {
    expect(readdirSync(join(docs, "..", folder)).length).toBeLessThanOrEqual(16);
  });
});
