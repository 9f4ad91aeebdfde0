/** Tests the security documents: the files that they name as evidence exist, and every threat has a test. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "./run-command.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Returns the targets of the links to files, relative to the root. */
function linksIn(page: string, text: string): string[] {
  const targets = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^https?:/.test(target)).map((target) => join(dirname(page), target));
}

/** Returns the rows of the first table after a heading, as lists of cells. */
function tableAfter(heading: string, text: string): string[][] {
  const rows = text
    .slice(text.indexOf(`\n## ${heading}\n`))
    .split("\n")
    .slice(2);
  const start = rows.findIndex((row) => row.startsWith("| "));
  const end = rows.findIndex((row, n) => n > start && !row.startsWith("| "));
  return rows.slice(start + 2, end < 0 ? undefined : end).map((row) => row.split(" | "));
}

describe("the security documents", () => {
  test.each(["SECURITY.md", "docs/threat-model.md", "docs/asvs.md"])("%s names files that exist", (page) => {
    const links = linksIn(page, read(page));
    expect(links.length).toBeGreaterThan(2);
    expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("every threat has a control and a test", () => {
    const threats = tableAfter("Threats", read("docs/threat-model.md"));
    expect(threats.length).toBeGreaterThan(20);
    const page = "docs/threat-model.md";
    const unproved = threats.filter(
      ([, control = "", tests = ""]) =>
        control === "" || !linksIn(page, tests).some((path) => /[.](test|contract)[.]tsx?$/.test(path)),
    );
    expect(unproved).toEqual([]);
  });

  test("every chapter of ASVS 5 has a judgement", () => {
    const chapters = [...read("docs/asvs.md").matchAll(/^\| V(\d+) [^|]+ \| ([^|]+) \|/gm)];
    expect(chapters.map(([, number]) => Number(number))).toEqual(Array.from({ length: 17 }, (_, n) => n + 1));
    for (const [, , judgement = ""] of chapters)
      expect(judgement).toMatch(/^(met|partly|not met|does not apply|your app)/);
  });
});
