/** Tests how CI counts and describes runs that passed, failed, or broke. */
import { expect, test } from "vitest";

import { countTests } from "./count-tests.ts";

const passed = { fullName: "adds", status: "passed", failureMessages: [] };
const failed = { fullName: "subtracts", status: "failed", failureMessages: ["expected 1 to be 2"] };
const loaded = { name: "a.test.ts", status: "passed", assertionResults: [passed] };
const withFailure = { name: "b.test.ts", status: "failed", assertionResults: [passed, failed] };
const unloaded = { name: "c.test.ts", status: "failed", message: "no such module", assertionResults: [] };

test("counts the tests of a run that passed", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, true)).toEqual({ passed: 3, failed: 0, failures: [] });
});

test("describes each failed test, and each file that could not be loaded", () => {
  const report = { numPassedTests: 3, numFailedTests: 1, testResults: [loaded, withFailure, unloaded] };
  expect(countTests(report, false)).toEqual({
    passed: 3,
    failed: 2,
    failures: ["b.test.ts: subtracts\nexpected 1 to be 2", "c.test.ts: could not be loaded\nno such module"],
  });
});

test("counts a failure outside of any test as one", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, false)).toMatchObject({ passed: 3, failed: 1 });
});

test("counts a run without a report as failed", () => {
  expect(countTests(undefined, true)).toMatchObject({ passed: 0, failed: 1 });
});
