/**
 * The whole of CI: the checks, then the tests, even when a check failed. The last line says how many tests
 * passed and failed; the exit code says whether everything did. Installs nothing.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { countTests } from "./count-tests.ts";
import { inSeconds, runCommand } from "./run-command.ts";

function readReport(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

console.log("[ci] check");
const check = await runCommand("node scripts/check.ts");
console.log(`[ci] check: ${check.ok ? "ok" : "FAILED"}, ${inSeconds(check.seconds)}`);

console.log("[ci] test");
const scratch = mkdtempSync(join(tmpdir(), "turnstream-ci-"));
const report = join(scratch, "tests.json");
const test = await runCommand(`vitest run --reporter=default --reporter=json --outputFile.json=${report}`, {
  // Nothing may stand between vitest's summary and ours.
  hide: /^JSON report written to /,
});
const { passed, failed } = countTests(readReport(report), test.ok);
rmSync(scratch, { recursive: true });

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = check.ok && test.ok && failed === 0 ? 0 : 1;
