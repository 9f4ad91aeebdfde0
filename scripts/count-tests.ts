/**
 * `countTests` reads the report of vitest's JSON reporter: how many tests passed and failed, and the failures. It never
 * counts a broken run as a run without failures.
 */

interface TestReport {
  fullName: string;
  status: string;
  failureMessages: string[] | null;
}

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { name: string; status: string; message?: string; assertionResults: TestReport[] }[];
}

export interface TestCount {
  passed: number;
  failed: number;
  /** One text per failure: its file, its name and its message. */
  failures: string[];
}

/** The longest message of one failure. The whole message is in the output of the stage. */
const MAX_MESSAGE_LENGTH = 1500;

function isReport(value: unknown): value is Report {
  return typeof value === "object" && value !== null && "numPassedTests" in value && "testResults" in value;
}

function describe(file: string, name: string, message: string | undefined): string {
  return `${file}: ${name}\n${(message ?? "").slice(0, MAX_MESSAGE_LENGTH)}`;
}

export function countTests(report: unknown, ok: boolean): TestCount {
  if (!isReport(report)) return { passed: 0, failed: 1, failures: ["The run wrote no report."] };
  const failures = report.testResults.flatMap(({ name: file, status, message, assertionResults }) => {
    // A file that could not be loaded has failed without any test result.
    if (status === "failed" && assertionResults.length === 0) {
      return [describe(file, "could not be loaded", message)];
    }
    return assertionResults
      .filter((result) => result.status === "failed")
      .map((result) => describe(file, result.fullName, result.failureMessages?.[0]));
  });
  if (!ok && failures.length === 0) failures.push("The run failed outside of any test. See its output.");
  return { passed: report.numPassedTests, failed: failures.length, failures };
}
