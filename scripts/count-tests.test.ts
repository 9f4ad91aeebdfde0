/** Tests how CI counts runs that passed, failed, or broke. */
import { expect, test } from "vitest";

import { countTests } from "./count-tests.ts";

const loaded = { status: "passed", assertionResults: [{}] };
const unloaded = { status: "failed", assertionResults: [] };

test("counts the tests of a run that passed", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, true)).toEqual({ passed: 3, failed: 0 });
});

test("counts a file that could not be loaded as a failure", () => {
  const report = { numPassedTests: 3, numFailedTests: 1, testResults: [loaded, unloaded] };
  expect(countTests(report, false)).toEqual({ passed: 3, failed: 2 });
});

test("counts a failure outside of any test as one", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, false)).toEqual({ passed: 3, failed: 1 });
});

test("counts a run without a report as failed", () => {
  expect(countTests(undefined, true)).toEqual({ passed: 0, failed: 1 });
});
