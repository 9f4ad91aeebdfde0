/** Tests the repository rules that no other tool checks, over every file that git tracks or would add. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { describe, expect, test } from "vitest";

import { listEntries } from "./public-api.ts";
import { root } from "./run-command.ts";

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "" && existsSync(join(root, file)));

const sources = files.filter((file) =>
  /^(packages\/[^/]+\/src|conformance|testkit|chaos|bench|gallery|browser|examples|scripts)\/.*[.]tsx?$/.test(
    file,
  ),
);

const read = (file: string) => readFileSync(join(root, file), "utf8");

/** Folders with one file per command, route, sub-port or migration, and files that are loaded on demand. */
const ONE_OF_A_SERIES =
  /\/(routes|migrations|messages|commands|operator|store\/postgres)\/[^/]+$|-chunk[.]ts$/;

/** Returns which files import each file, including tests. */
function findImporters(): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>();
  for (const file of files.filter((name) => /[.]tsx?$/.test(name))) {
    for (const [, path = ""] of read(file).matchAll(/(?:from|import)\s*[(]?\s*"([.][^"]+)"/g)) {
      const target = join(dirname(file), path);
      importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  }
  return importers;
}

const machinePath = /(?<![\w.*}-])\/(?:root|work)(?![\w-])/;
const registryHost = /\bregistry[.](?:npmjs|yarnpkg|npmmirror)[.]/;

describe("every source file", () => {
  test("is checked", () => {
    expect(sources).toContain("scripts/repository-rules.test.ts");
  });

  test("has a kebab-case name", () => {
    const named = /^[a-z0-9]+(-[a-z0-9]+)*([.][a-z]+)*[.]tsx?$/;
    expect(sources.filter((file) => !named.test(basename(file)))).toEqual([]);
  });

  test("has at most 400 lines", () => {
    expect(sources.filter((file) => read(file).trimEnd().split("\n").length > 400)).toEqual([]);
  });

  test("with fewer than 40 lines has a second importer", () => {
    const importers = findImporters();
    const short = sources.filter(
      (file) =>
        /^packages\/[^/]+\/src\//.test(file) &&
        !ONE_OF_A_SERIES.test(file) &&
        read(file).trimEnd().split("\n").length < 40,
    );
    const entries = new Set(listEntries().map(({ source }) => source));
    const alone = short.filter((file) => !entries.has(file) && importers.get(file)?.size === 1);
    expect(alone).toEqual([]);
  });

  test("starts with a comment about its purpose", () => {
    expect(sources.filter((file) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(read(file)))).toEqual([]);
  });
});

describe("no file", () => {
  test("contains an absolute path of a developer's machine", () => {
    expect(files.filter((file) => machinePath.test(read(file)))).toEqual([]);
  });

  test("contains a registry host", () => {
    expect(files.filter((file) => registryHost.test(read(file)))).toEqual([]);
  });
});

test("the patterns match only what they should", () => {
  const folder = ["", "root", "x"].join("/");
  for (const line of [folder, `"${folder}"`, `PATH=${folder}`, `file://${folder}`])
    expect(line).toMatch(machinePath);
  for (const line of [`src${folder}`, `..${folder}`, `**${folder}`, "/workspace/x"]) {
    expect(line).not.toMatch(machinePath);
  }
  expect(["https://registry", "npmjs", "org/x"].join(".")).toMatch(registryHost);
});
