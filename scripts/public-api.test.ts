/**
 * Tests the public names of every entry point: the lists in the repository match the code, and the root entries stay
 * small.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { describeEntry, formatList, listEntries, openProgram } from "./public-api.ts";
import { root } from "./run-command.ts";

const entries = listEntries();
const program = openProgram(entries);

test.each(entries)("$name exports exactly the names in its list", (entry) => {
  const list = readFileSync(join(root, entry.list), "utf8");
  expect(list, "Run `npm run public-api` and review the change.").toBe(
    formatList(entry, describeEntry(program, entry)),
  );
});

test("the root of @turnstream/server has at most 110 names", () => {
  const server = entries.find(({ name }) => name === "@turnstream/server");
  if (server === undefined) throw new Error("@turnstream/server is not among the entries");
  expect(describeEntry(program, server).length).toBeLessThanOrEqual(110);
});

/** Names that only log writers and gateways need. */
const SERVER_NAMES = /EventDraft|checkEvent|coalesce|HandoffPoint|Encoder\b/;

test.each(["@turnstream/protocol", "@turnstream/client", "@turnstream/react"])(
  "the root of %s has no name that only a server uses",
  (wanted) => {
    const entry = entries.find(({ name }) => name === wanted);
    if (entry === undefined) throw new Error(`${wanted} is not among the entries`);
    const names = describeEntry(program, entry).map((line) => line.split(/[\s:<(]/)[1] ?? "");
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => SERVER_NAMES.test(name))).toEqual([]);
  },
);
