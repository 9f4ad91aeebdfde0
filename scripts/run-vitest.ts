/**
 * `runVitest` runs test files and repeats each file that fails once, alone. A file that passes then is flaky: the run
 * stays green and names it.
 *
 * Invariant: a file that tests a race is never repeated, because one failure there is a defect.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { countTests, type TestCount } from "./count-tests.ts";
import { inSeconds, root, runCommand } from "./run-command.ts";

/** A run that hangs, such as a browser, is killed. A slow machine needs a third of this. */
const KILL_AFTER_SECONDS = 25 * 60;
const MAX_REPEATED = 3;
const TESTS_A_RACE = /race|interleaving|stress/;

export interface TestRun {
  readonly ok: boolean;
  readonly seconds: number;
  readonly passed: number;
  /** One text per failure: its file, its name and its message. */
  readonly failures: readonly string[];
  /** Files that failed and then passed alone. */
  readonly flaky: readonly string[];
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** @param isBuffered if true, the output is printed after the run has ended */
  readonly isBuffered?: boolean;
}

/** @param chosen arguments of `vitest run` */
export async function runVitest(chosen: readonly string[], options: RunOptions = {}): Promise<TestRun> {
  const first = await runOnce(chosen, options);
  const failed = first.count.failedFiles;
  const isRepeatable = failed.length > 0 && failed.length <= MAX_REPEATED && !failed.some(isRace);
  if (first.ok || !isRepeatable) return { ...first, ...first.count, flaky: [] };
  const flaky: string[] = [];
  const failures: string[] = [];
  for (const file of failed) {
    console.log(`[tests] ${file} failed, and runs once more, alone`);
    const again = await runOnce([...chosen.filter((word) => word.startsWith("--")), file], options);
    if (again.ok) flaky.push(file);
    else failures.push(...again.count.failures);
  }
  return { ...first, ok: failures.length === 0, passed: first.count.passed, failures, flaky };
}

function isRace(file: string): boolean {
  return TESTS_A_RACE.test(file);
}

async function runOnce(
  chosen: readonly string[],
  { env = {}, isBuffered = false }: RunOptions,
): Promise<{ ok: boolean; seconds: number; count: TestCount }> {
  const scratch = mkdtempSync(join(tmpdir(), "turnstream-tests-"));
  const results = join(scratch, "tests.json");
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${results}`];
  const limit = ["timeout", "--kill-after=10", String(KILL_AFTER_SECONDS)];
  const command = ["env", ...settings, ...limit, "vitest", "run", ...chosen, ...reporters];
  // Hides the only line between vitest's summary and ours.
  const run = await runCommand(command.join(" "), { hide: /^JSON report written to /, isBuffered });
  const count = countTests(readReport(results), run.ok);
  rmSync(scratch, { recursive: true });
  return { ok: run.ok && count.failures.length === 0, seconds: run.seconds, count };
}

function readReport(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

export function describeRun({ ok, seconds, passed, failures, flaky }: TestRun): string {
  const repeated = flaky.map((file) => `\n  FLAKY ${relative(root, join(root, file))}`).join("");
  return `${ok ? "ok" : "FAILED"}, ${passed} passed, ${failures.length} failed, ${inSeconds(seconds)}${repeated}`;
}
