/**
 * `countTests` reads the report of vitest's JSON reporter: how many tests passed, and the failures. It never counts a
 * broken run as a run without failures.
 */
import { relative } from "node:path";
import { root } from "./run-command.ts";

interface TestReport {
  fullName: string;
  status: string;
  failureMessages: string[] | null;
}

interface Report {
  numPassedTests: number;
  testResults: { name: string; status: string; message?: string; assertionResults: TestReport[] }[];
}

export interface TestCount {
  passed: number;
  /** One text per failure: its file, its name and its message. */
  failures: string[];
  /** Relative to the root of the repository. Empty if the run failed outside of any file. */
  failedFiles: string[];
}

/** The longest message of one failure. The whole message is in the output of the run. */
const MAX_MESSAGE_LENGTH = 1500;

function isReport(value: unknown): value is Report {
  return typeof value === "object" && value !== null && "numPassedTests" in value && "testResults" in value;
}

export function countTests(report: unknown, ok: boolean): TestCount {
  if (!isReport(report)) return { passed: 0, failures: ["The run wrote no report."], failedFiles: [] };
  const failed = report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const describe = (test: string, text: string | undefined) =>
      `${file}: ${test}\n${(text ?? "").slice(0, MAX_MESSAGE_LENGTH)}`;
    const results = assertionResults.filter((result) => result.status === "failed");
    const failures = results.map((result) => describe(result.fullName, result.failureMessages?.[0]));
    // A file that could not be loaded, or whose last hook failed, has failed without a failed test.
    if (status === "failed" && failures.length === 0) failures.push(describe("the file", message));
    return failures.length === 0 ? [] : [{ file, failures }];
  });
  const failures = failed.flatMap((each) => each.failures);
  if (!ok && failures.length === 0) failures.push("The run failed outside of any test. See its output.");
  return { passed: report.numPassedTests, failures, failedFiles: failed.map(({ file }) => file) };
}
