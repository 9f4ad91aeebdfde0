/** Tests that no file that git tracks, or would add, contains an address that only one machine knows, or a secret. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./run-command.ts";

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "" && existsSync(join(root, file)));

const FORBIDDEN = {
  "an absolute path of a developer's machine": /(?<![\w.*}-])\/(?:root|work)(?![\w-])/,
  "a registry host": /\bregistry[.](?:npmjs|yarnpkg|npmmirror)[.]/,
  "a secret":
    /-----BEGIN [A-Z ]*PRIVATE KEY-----\n[\w+/=\n]{100}|\b(?:sk|rk)_live_\w{16}|\bsk-ant-\w{16}|\bgh[pousr]_\w{36}|\bAKIA[A-Z\d]{16}\b/,
} as const;

test.each(Object.entries(FORBIDDEN))("no file contains %s", (_, pattern) => {
  expect(files).toContain("scripts/repository-rules.test.ts");
  expect(files.filter((file) => pattern.test(readFileSync(join(root, file), "latin1")))).toEqual([]);
});

test("the patterns match only what they should", () => {
  const [path, host, secret] = Object.values(FORBIDDEN);
  const folder = ["", "root", "x"].join("/");
  for (const line of [folder, `"${folder}"`, `PATH=${folder}`, `file://${folder}`])
    expect(line).toMatch(path ?? "");
  for (const line of [`src${folder}`, `..${folder}`, `**${folder}`, "/workspace/x"])
    expect(line).not.toMatch(path ?? "");
  expect(["https://registry", "npmjs", "org/x"].join(".")).toMatch(host ?? "");
  expect(["sk", "live", "a".repeat(24)].join("_")).toMatch(secret ?? "");
});
