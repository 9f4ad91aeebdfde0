/** Tests the security documents: the files and tests that they name exist, and every threat and attack has a test. */
import { existsSync, globSync, readFileSync } from "node:fs";
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

interface Attack {
  readonly id: string;
  readonly result: string;
  readonly tests: readonly { readonly path: string; readonly title: string }[];
}

/** Each section of docs/attacks.md with the rows of its table. */
const sections = [...read("docs/attacks.md").matchAll(/^## (.+)\n/gm)].map(([, heading = ""]) => ({
  heading,
  attacks: tableAfter(heading, read("docs/attacks.md")).map(
    ([id = "", , result = "", tests = ""]): Attack => {
      const named = [...tests.matchAll(/\]\(([^)]+)\) "([^"]+)"/g)];
      return {
        id: id.replace("| ", ""),
        result,
        tests: named.map(([, path = "", title = ""]) => ({ path: join("docs", path), title })),
      };
    },
  ),
}));
const attacks = sections.flatMap((section) => section.attacks);

/** Returns the files that a file imports, relative to the root. */
function importsOf(file: string): string[] {
  const paths = [...read(file).matchAll(/from "([.][^"]+)"/g)].map(([, path = ""]) => path);
  return paths.map((path) => join(dirname(file), path));
}

describe("the security documents", () => {
  test.each(["SECURITY.md", "docs/threat-model.md", "docs/asvs.md", "docs/attacks.md"])(
    "%s names files that exist",
    (page) => {
      const links = linksIn(page, read(page));
      expect(links.length).toBeGreaterThan(2);
      expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    },
  );

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

  test("every attack has an id, a result, and tests that exist", () => {
    const ids = attacks.map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(100);
    expect(new Set(ids).size).toBe(ids.length);
    const untested = attacks.flatMap(({ id, result, tests }) => {
      const isComplete = ["failed", "weak", "succeeded", "new"].includes(result) && tests.length > 0;
      const missing = tests.filter(({ path, title }) => !read(path).includes(`"${title}"`));
      return isComplete ? missing.map(({ path, title }) => `${id}: ${path}: ${title}`) : [id];
    });
    expect(untested).toEqual([]);
  });

  test("every attack with two tenants runs on PostgreSQL and Redis", () => {
    const withServers = globSync("packages/*/test/**/*.services.test.ts", { cwd: root });
    const run = new Set(withServers.flatMap((file) => [file, ...importsOf(file)]));
    const [tenants, links, ...rest] = sections;
    expect([tenants?.heading, links?.heading, rest.length]).toEqual(["Tenants and ids", "Share links", 6]);
    const missing = [tenants, links]
      .flatMap((section) => section?.attacks ?? [])
      .filter(({ tests }) => !tests.some(({ path }) => run.has(path)));
    expect(missing).toEqual([]);
  });

  test("every chapter of ASVS 5 has a judgement", () => {
    const chapters = [...read("docs/asvs.md").matchAll(/^\| V(\d+) [^|]+ \| ([^|]+) \|/gm)];
    expect(chapters.map(([, number]) => Number(number))).toEqual(Array.from({ length: 17 }, (_, n) => n + 1));
    for (const [, , judgement = ""] of chapters)
      expect(judgement).toMatch(/^(met|partly|not met|does not apply|your app)/);
  });
});
