/** Checks that damage to a vector is found, and that an independent reader in Python agrees with the vectors. */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { damaged, promises, sample } from "./scenarios/verify/damage.ts";
import { verifyFile } from "./scenarios/verify/files.ts";

const folder = join(import.meta.dirname, "vectors");
const paths = globSync("**/*.json", { cwd: folder }).toSorted();
const texts = new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
const vectors = new Map([...texts].map(([path, text]) => [path, JSON.parse(text) as unknown]));

function checkInPython(where: string) {
  return spawnSync("python3", [join(folder, "check.py"), where], { encoding: "utf8" });
}

test("the vectors can't be damaged without a failing check", () => {
  let planted = 0;
  for (const [path, vector] of vectors) {
    for (const place of sample(promises(vector), path.startsWith("handoff/") ? 8 : 14)) {
      const altered = new Map([...vectors, [path, damaged(vector, place)]]);
      const { problems } = verifyFile(path, altered, true);
      expect(problems.length, `${path}: ${place.join("/")}`).toBeGreaterThan(0);
      planted++;
    }
  }
  expect(planted).toBeGreaterThan(1000);
});

describe("the fold in Python, written from PROTOCOL.md alone", () => {
  const fold = join(import.meta.dirname, "clients/python/fold.py");

  test("U09 passes every fold vector", () => {
    const { status, stdout, stderr } = spawnSync("python3", [fold, join(folder, "fold")], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const count = globSync("fold/*.json", { cwd: folder }).length;
    expect(count).toBeGreaterThan(10);
    expect(stdout).toBe(`${count} vectors passed\n`);
  });

  test("notices a damaged vector", () => {
    const copy = mkdtempSync(join(tmpdir(), "turnstream-vectors-"));
    try {
      const text = texts.get("fold/plain-answer.json") ?? "";
      writeFileSync(
        join(copy, "plain-answer.json"),
        text.replaceAll('"type": "text.delta"', '"type": "text.end"'),
      );
      expect(spawnSync("python3", [fold, copy], { encoding: "utf8" }).status).toBe(1);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});

describe("the reader in Python", () => {
  test("U09 agrees with every vector that it reads", () => {
    const { status, stdout, stderr } = checkInPython(folder);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const checks = Number(/^(\d+) checks passed$/m.exec(stdout)?.[1]);
    expect(checks).toBeGreaterThan(1000);
  });

  test.each([
    [
      "handoff/stopped.json",
      '"tool_content_message": "Tải trang", "input"',
      '"tool_content_message": "Tải", "input"',
    ],
    [
      "handoff/payment-settles-later.json",
      '"status": "succeeded", "version": 2',
      '"status": "failed", "version": 2',
    ],
    ["handoff/plain-answer.json", "Chào bạn 👋! Tôi tra cứu giá", "Chào bạn!"],
    [
      "fold/plain-answer.json",
      '"op": "replace", "path": "/seq", "value": 7',
      '"op": "replace", "path": "/seq", "value": 8',
    ],
    ["sse.json", '"messages": [{ "data": "a\\nb\\nc" }', '"messages": [{ "data": "a\\nb" }'],
    ["cursors.json", '"bad": [', '"bad": ["1-1",'],
    ["places.json", '"place": "diverged"', '"place": "next"'],
    ["places.json", '"place": "stale"', '"place": "known"'],
    [
      "fold/odd-events.json",
      '"id": "2-26", "type": "session.update"',
      '"id": "1-26", "type": "session.update"',
    ],
    ["dialects/blocks/odd-events.json", '"type": "content_block_stop"', '"type": "content_block_stopped"'],
  ])("finds damage to %s", (path, from, to) => {
    const copy = mkdtempSync(join(tmpdir(), "turnstream-vectors-"));
    // Only the logs that are needed, because checking all of them takes a second.
    const logs = new Set([basename(path), "odd-events.json"]);
    const isNeeded = (file: string) =>
      !/(fold|handoff)\/[^/]*[.]json$/.test(file) || logs.has(basename(file));
    try {
      cpSync(folder, copy, { recursive: true, filter: isNeeded });
      expect(checkInPython(copy).status).toBe(0);
      const text = texts.get(path) ?? "";
      expect(text).toContain(from);
      writeFileSync(join(copy, path), text.replaceAll(from, to));
      expect(checkInPython(copy).status).toBe(1);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});
