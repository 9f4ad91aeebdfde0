/** The house rules that no other tool checks, over every file that git knows or would add. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { describe, expect, test } from "vitest";

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

const machinePath = /(?<![\w.*}-])\/(?:root|work)(?![\w-])/;
const registryHost = /\bregistry[.](?:npmjs|yarnpkg|npmmirror)[.]/;

describe("every source file", () => {
  test("is looked at", () => {
    expect(sources).toContain("scripts/repository-rules.test.ts");
  });

  test("has a kebab-case name", () => {
    const named = /^[a-z0-9]+(-[a-z0-9]+)*([.][a-z]+)*[.]tsx?$/;
    expect(sources.filter((file) => !named.test(basename(file)))).toEqual([]);
  });

  test("has at most 400 lines", () => {
    expect(sources.filter((file) => read(file).trimEnd().split("\n").length > 400)).toEqual([]);
  });

  test("starts with a comment saying what it is for", () => {
    expect(sources.filter((file) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(read(file)))).toEqual([]);
  });
});

describe("no file", () => {
  test("names a path of the machine it was written on", () => {
    expect(files.filter((file) => machinePath.test(read(file)))).toEqual([]);
  });

  test("names a registry host", () => {
    expect(files.filter((file) => registryHost.test(read(file)))).toEqual([]);
  });
});

test("the patterns catch what they are for, and little else", () => {
  const folder = ["", "root", "x"].join("/");
  for (const line of [folder, `"${folder}"`, `PATH=${folder}`, `file://${folder}`])
    expect(line).toMatch(machinePath);
  for (const line of [`src${folder}`, `..${folder}`, `**${folder}`, "/workspace/x"]) {
    expect(line).not.toMatch(machinePath);
  }
  expect(["https://registry", "npmjs", "org/x"].join(".")).toMatch(registryHost);
});
