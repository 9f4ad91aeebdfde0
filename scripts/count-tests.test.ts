/** What CI says about runs that went well, failed, or broke. */
import { expect, test } from "vitest";

import { countTests } from "./count-tests.ts";

const loaded = { status: "passed", assertionResults: [{}] };
const unloaded = { status: "failed", assertionResults: [] };

test("a good run counts its tests", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, true)).toEqual({ passed: 3, failed: 0 });
});

test("a file that could not be loaded counts as a failure", () => {
  const report = { numPassedTests: 3, numFailedTests: 1, testResults: [loaded, unloaded] };
  expect(countTests(report, false)).toEqual({ passed: 3, failed: 2 });
});

test("a failure outside of any test counts as one", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, false)).toEqual({ passed: 3, failed: 1 });
});

test("a run without a report has failed", () => {
  expect(countTests(undefined, true)).toEqual({ passed: 0, failed: 1 });
});
