/** Tests the checks of the dependencies: what a tampered lockfile and a foreign licence cause. */
import { describe, expect, test } from "vitest";
import {
  createSbom,
  lintLockfile,
  listLicenceProblems,
  listPublished,
  type LockEntry,
  type Lockfile,
} from "./supply-chain.ts";

const REGISTRY = "https://packages.example";
const integrity = `sha512-${"A".repeat(86)}==`;
const good: LockEntry = { version: "1.2.3", integrity, license: "MIT" };
const lockOf = (packages: Readonly<Record<string, LockEntry>>): Lockfile => ({
  lockfileVersion: 3,
  packages,
});

describe("lintLockfile", () => {
  test.each<[string, LockEntry, RegExp]>([
    ["no hash", { version: "1.2.3", license: "MIT" }, /no sha512 integrity/],
    ["a weak hash", { ...good, integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }, /no sha512 integrity/],
    ["another registry", { ...good, resolved: "https://evil.example/a.tgz" }, /configured registry/],
    ["plain http", { ...good, resolved: "http://packages.example/a.tgz" }, /configured registry/],
    ["a repository", { ...good, resolved: "git+ssh://git@host.example/a.git#1" }, /configured registry/],
    ["an install script", { ...good, hasInstallScript: true }, /install script/],
  ])("refuses a package with %s", (_, entry, problem) => {
    expect(lintLockfile(lockOf({ "node_modules/a": entry }), REGISTRY).join()).toMatch(problem);
  });

  test.each([
    "git+https://host.example/a.git",
    "https://host.example/a.tgz",
    "file:../a",
    "latest",
    "owner/a",
  ])("refuses a dependency on %s", (spec) => {
    const lock = lockOf({ "packages/x": { dependencies: { a: spec } } });
    expect(lintLockfile(lock, REGISTRY)).toEqual([expect.stringContaining("which is no version")]);
  });

  test("accepts versions of the configured registry, aliases, links and workspaces", () => {
    const lock = lockOf({
      "": { devDependencies: { b: "npm:@scope/a@1.2.3", c: ">=5 <7", d: "^19.0.0 || ^20.0.0", e: "*" } },
      "node_modules/a": { ...good, resolved: `${REGISTRY}/a/-/a.tgz` },
      "node_modules/esbuild": { ...good, hasInstallScript: true },
      "node_modules/x": { resolved: "packages/x", link: true },
      "packages/x": { name: "x", dependencies: { a: "~1.2.3" } },
    });
    expect(lintLockfile(lock, REGISTRY)).toEqual([]);
  });
});

const tree = lockOf({
  "packages/x": { name: "x", dependencies: { a: "1", y: "1" }, devDependencies: { tool: "1" } },
  "packages/y": { name: "y", dependencies: { b: "2" } },
  "node_modules/y": { resolved: "packages/y", link: true },
  "node_modules/a": { ...good, dependencies: { b: "1" } },
  "node_modules/a/node_modules/b": { ...good, version: "1.0.0", license: "(GPL-3.0-only OR MIT)" },
  "node_modules/b": { ...good, version: "2.0.0", license: "ISC" },
  "node_modules/tool": { ...good, license: "MPL-2.0" },
});

describe("published dependencies", () => {
  test("are found as Node finds them, without tools", () => {
    const found = listPublished(tree, ["packages/x", "packages/y"]);
    expect(found.map(({ name, version, usedBy }) => `${name} ${version} ${usedBy.join()}`)).toEqual([
      "a 1.2.3 x",
      "b 1.0.0 x",
      "b 2.0.0 x,y",
    ]);
  });

  test.each(["GPL-3.0-only", "SEE LICENSE IN LICENSE", "(MIT AND GPL-3.0-only)", "MPL-2.0", "none"])(
    "may not have the licence %s",
    (license) => {
      const lock = lockOf({ ...tree.packages, "node_modules/b": { ...good, license } });
      const problems = listLicenceProblems(lock, listPublished(lock, ["packages/x"]));
      expect(problems.length).toBeGreaterThan(0);
    },
  );

  test("may have a permissive licence or a choice of one, and tools may have MPL-2.0", () => {
    expect(listLicenceProblems(tree, listPublished(tree, ["packages/x"]))).toEqual([]);
  });

  test("are in the bill of materials with their hash and licence", () => {
    const scoped = [{ name: "@s/a", version: "1.0.0", licence: "MIT", integrity, usedBy: ["x"] }];
    expect(createSbom(scoped, "0.1.0")).toMatchObject({
      bomFormat: "CycloneDX",
      components: [
        {
          purl: "pkg:npm/%40s/a@1.0.0",
          licenses: [{ expression: "MIT" }],
          hashes: [{ alg: "SHA-512", content: "0".repeat(128) }],
        },
      ],
    });
  });
});
