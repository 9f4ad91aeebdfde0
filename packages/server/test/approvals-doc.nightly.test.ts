/** The program of docs/approvals.md runs, and its table lists the transitions of the store. */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { expect, test } from "vitest";
import { type InteractionKind, deadlineRule } from "../src/store/rules/interactions.ts";

const page = readFileSync(new URL("../../../docs/approvals.md", import.meta.url), "utf8");

test("W13 the program of docs/approvals.md prints what the page shows", async () => {
  const folder = await createDataFolder();
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"));
  const [, code = ""] = /```ts\n(.*?)```/s.exec(page) ?? [];
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@turnstream/source", "--input-type=module-typescript", "-"],
    { cwd: folder, input: code, encoding: "utf8", timeout: 60_000 },
  );
  expect(stderr).toBe("");
  const [refused, ran, ...rules] = stdout.trim().split("\n");
  expect(refused).toContain("count: ");
  expect(ran).toBe("traded 5 VNM");
  expect(rules.join("")).toBe("[ 'broker trade an' ]");
});

test.each(["README.md", "docs/approvals.md"])(
  "%s names the default timeout, and how to wait without one",
  (path) => {
    const text = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
    expect(text).toContain("300 seconds");
    expect(text).toContain("`timeoutMs: null`");
  },
);

const WHEN = { before: "before the deadline", after: "after the deadline", any: "at any time" };
const WHO = [
  "the user",
  "the waiting worker",
  "a worker",
  "the worker when the turn ends",
  "the server",
  "the user who opens the checkout",
  "the payment provider",
];

test("W13 the table of transitions matches the store", () => {
  const rows = [...page.matchAll(/^\| (\w+) \| `(\w+)` \| `(\w+)` \| (.+?) \| (.+?) \|$/gm)];
  const written = rows.map(([, kind, from, to, who, when]) => ({ kind, from, to, who, when }));
  expect(written.filter(({ who = "" }) => !WHO.includes(who))).toEqual([]);
  const documented = written.map(({ kind, from, to, when }) => [kind, from, to, when].join(" "));
  const real = Object.entries(TRANSITIONS).flatMap(([kind, states]) =>
    Object.entries(states).flatMap(([from, targets]) =>
      targets.map((to) => [kind, from, to, WHEN[deadlineRule(kind as InteractionKind, to)]].join(" ")),
    ),
  );
  expect(documented.toSorted()).toEqual(real.toSorted());
});
