/** Tests that names and prose contain no word that docs/glossary.md bans. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import {
  type BannedName,
  findBannedWords,
  findBannedNames,
  readBannedWords,
  splitName,
} from "./banned-words.ts";
import { root } from "./run-command.ts";

const banned = readBannedWords(readFileSync(join(root, "docs/glossary.md"), "utf8"));

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "" && existsSync(join(root, file)));

/** Excludes this test, which quotes banned words. */
const sources = files.filter((file) => /[.]tsx?$/.test(file) && !file.startsWith("scripts/banned-words"));

/** Names that contain a banned word for a reason, by file. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "packages/cli/src/commands/knowledge-import.ts quiet": "a common command-line flag",
  "packages/server/src/store/postgres/knowledge.ts words": "a column",
  "packages/server/src/store/postgres/schema.ts words": "a column",
  "packages/server/src/store/postgres/schema-runtime.ts kept": "a column",
  "packages/server/src/store/postgres/schema-ledger.ts people": "a table",
};

/** Sentences that contain a banned word for a reason, by file and word. */
const PROSE_EXCEPTIONS: Readonly<Record<string, string>> = {
  "CONTRIBUTING.md words": "the words of a sentence",
  "packages/server/src/runtime/turn/title.ts words": "the words of a title",
  "packages/protocol/src/commands/socket.ts gone": "a value on the wire",
  "chaos/turn-environment.ts kept": "a column",
  "packages/server/test/store/tenant-session-ids.services.test.ts kept": "a column",
  "packages/server/test/store/plan-data.ts kept": "a column",
  "packages/server/src/store/postgres/migrations/0002-ledger.ts people": "a table",
  "packages/server/src/store/postgres/migrations/0003-runtime.ts kept": "a column",
  "packages/server/src/store/postgres/migrations/0007-built-in.ts words": "a column",
};

const exceptionKey = ({ file, name }: BannedName): string => `${file} ${name}`;

test("reads the glossary", () => {
  expect([...banned]).toEqual(expect.arrayContaining(["seat", "wish", "told", "whoever"]));
  expect(banned.has("session")).toBe(false);
  expect(splitName("maxHeldBytes2")).toEqual(["max", "held", "bytes", ""]);
});

const prose = files.filter(
  (file) =>
    /[.](tsx?|md|css|html)$/.test(file) &&
    file !== "docs/glossary.md" &&
    !file.includes("/vectors/") &&
    !file.startsWith("scripts/banned-words"),
);

const bannedWords = prose.flatMap((file) => findBannedWords(root, file, banned));
const bannedNames = sources.flatMap((file) => findBannedNames(root, file, banned));

test("no name contains a banned word", () => {
  const found = bannedNames.filter((entry) => !Object.hasOwn(EXCEPTIONS, exceptionKey(entry)));
  expect(found.map(({ file, line, name }) => `${file}:${line} ${name}`)).toEqual([]);
});

test("has no unused exception", () => {
  const names = new Set(bannedNames.map(exceptionKey));
  expect(Object.keys(EXCEPTIONS).filter((key) => !names.has(key))).toEqual([]);
  const words = new Set(bannedWords.map(({ file, word }) => `${file} ${word}`));
  expect(Object.keys(PROSE_EXCEPTIONS).filter((key) => !words.has(key))).toEqual([]);
});

test("no comment, sentence or document contains a banned word", () => {
  const found = bannedWords.filter(({ file, word }) => !Object.hasOwn(PROSE_EXCEPTIONS, `${file} ${word}`));
  expect(found.map(({ file, line, word }) => `${file}:${line} ${word}`)).toEqual([]);
});
