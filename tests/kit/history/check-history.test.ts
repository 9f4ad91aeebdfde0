/** Checks histories of real runs, and copies of them with planted faults. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../util/seeded-random.ts";
import { checkHistory } from "./check-history.ts";
import { PLANTED_FAULTS } from "./planted-faults.ts";
import { readRecording } from "./recorded-history.ts";

const FOLDER = join(import.meta.dirname, "recorded");
const RECORDINGS = readdirSync(FOLDER).map((file) => ({
  name: basename(file, ".jsonl"),
  history: readRecording(join(FOLDER, file)),
}));
const FAULTS = Object.entries(PLANTED_FAULTS).map(([name, fault]) => ({ name, ...fault }));
/** A fault is planted at this many places of a history. */
const PLACES = 10;

function plantEverywhere(
  { plant }: (typeof FAULTS)[number],
  history: (typeof RECORDINGS)[number]["history"],
) {
  const random = seededRandom(1);
  return Array.from({ length: PLACES }, () => plant(history, random)).filter((planted) => planted !== null);
}

test.for(RECORDINGS)("finds nothing in a run of $name", ({ history }) => {
  const report = checkHistory(history);
  expect(report.findings).toEqual([]);
  expect(report.acknowledged).toBeGreaterThan(10);
});

describe.for(FAULTS)("$name", (fault) => {
  test("has a place in a recorded run", () => {
    expect(RECORDINGS.flatMap(({ history }) => plantEverywhere(fault, history)).length).toBeGreaterThan(0);
  });

  test.for(RECORDINGS)("is found in a run of $name", ({ history }) => {
    for (const planted of plantEverywhere(fault, history))
      expect(checkHistory(planted).findings.map(({ kind }) => kind)).toContain(fault.kind);
  });
});
