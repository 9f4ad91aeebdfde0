/**
 * `countTests` counts tests in the report of vitest's JSON reporter. It never counts a broken run as a run without
 * failures.
 */

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { status: string; assertionResults: unknown[] }[];
}

export interface TestCount {
  passed: number;
  failed: number;
}

function isReport(value: unknown): value is Report {
  return typeof value === "object" && value !== null && "numPassedTests" in value && "testResults" in value;
}

export function countTests(report: unknown, ok: boolean): TestCount {
  if (!isReport(report)) return { passed: 0, failed: 1 };
  // A file that could not be loaded has failed without any test result.
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  const failed = report.numFailedTests + unloaded.length;
  return { passed: report.numPassedTests, failed: ok ? failed : Math.max(failed, 1) };
}
