/** Tests how CI counts and describes runs that passed, failed, or broke. */
import { join } from "node:path";
import { expect, test } from "vitest";

import { countTests } from "./count-tests.ts";
import { root } from "./run-command.ts";

const passed = { fullName: "adds", status: "passed", failureMessages: [] };
const failed = { fullName: "subtracts", status: "failed", failureMessages: ["expected 1 to be 2"] };
const named = (file: string) => join(root, file);
const loaded = { name: named("a.test.ts"), status: "passed", assertionResults: [passed] };
const withFailure = { name: named("b.test.ts"), status: "failed", assertionResults: [passed, failed] };
const unloaded = {
  name: named("c.test.ts"),
  status: "failed",
  message: "no such module",
  assertionResults: [],
};

test("counts the tests of a run that passed", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, true)).toEqual({ passed: 3, failures: [], failedFiles: [] });
});

test("describes each failed test, and each file that could not be loaded", () => {
  const report = { numPassedTests: 3, numFailedTests: 1, testResults: [loaded, withFailure, unloaded] };
  expect(countTests(report, false)).toEqual({
    passed: 3,
    failures: ["b.test.ts: subtracts\nexpected 1 to be 2", "c.test.ts: the file\nno such module"],
    failedFiles: ["b.test.ts", "c.test.ts"],
  });
});

test("counts a failure outside of any test as one", () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [loaded] };
  expect(countTests(report, false)).toMatchObject({ passed: 3, failures: [expect.any(String)] });
});

test("counts a run without a report as failed", () => {
  expect(countTests(undefined, true)).toMatchObject({ passed: 0, failures: [expect.any(String)] });
});
