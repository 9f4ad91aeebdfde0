/**
 * Runs the whole CI: two groups of stages in parallel, the tests without servers, those of the gallery and the checks,
 * and the tests with servers and browsers.
 *
 * Invariant: every stage runs even if another failed, and time never fails one: a stage is only killed when it hangs.
 * The end of the output names everything that failed, its last line has the number of passed and failed tests, and the
 * exit code is 0 only if everything passed. Installs nothing.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { MachineSpeed } from "../testkit/util/machine-speed.ts";
import { countTests, type TestCount } from "./count-tests.ts";
import { inSeconds, runCommand } from "./run-command.ts";

function readReport(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/** A stage that hangs, such as a browser, is killed. A slow machine needs a third of this. */
const KILL_AFTER_SECONDS = 25 * 60;

const started = performance.now();

interface FailedStage {
  result: string;
  lastLines: string[];
}

/** Each stage that failed, and each test that failed. They are printed at the end. */
const failedStages = new Map<string, FailedStage>();
const failedTests: string[] = [];

interface Stage {
  ok: boolean;
  seconds: number;
  /** What the end of the output repeats if the stage fails. */
  lastLines?: string[];
}

function report(stage: string, { ok, seconds, lastLines = [] }: Stage): boolean {
  const result = `${ok ? "ok" : "FAILED"}, ${inSeconds(seconds)}`;
  console.log(`[ci] ${stage}: ${result}`);
  if (!ok) failedStages.set(stage, { result, lastLines });
  return ok;
}

interface TestStage extends TestCount {
  ok: boolean;
}

/** @param isBuffered if true, the output is printed after the stage has ended */
async function runTests(
  stage: "test" | "test:services" | "test:browser" | "test:gallery" | "test:older-react",
  chosen: string,
  isBuffered: boolean,
): Promise<TestStage> {
  console.log(`[ci] ${stage}`);
  const scratch = mkdtempSync(join(tmpdir(), "turnstream-ci-"));
  const results = join(scratch, "tests.json");
  const reporters = `--reporter=default --reporter=json --outputFile.json=${results}`;
  const react = stage === "test:older-react" ? "env TURNSTREAM_REACT=18 " : "";
  const within = `${react}timeout --kill-after=10 ${KILL_AFTER_SECONDS}`;
  const run = await runCommand(`${within} vitest run ${chosen} ${reporters}`, {
    // Hides the only line between vitest's summary and ours.
    hide: /^JSON report written to /,
    isBuffered,
  });
  const count = countTests(readReport(results), run.ok);
  rmSync(scratch, { recursive: true });
  failedTests.push(...count.failures);
  const ok = report(stage, { ok: run.ok && count.failed === 0, seconds: run.seconds });
  return { ...count, ok };
}

async function check(): Promise<boolean> {
  console.log("[ci] check");
  return report("check", await runCommand("node scripts/check.ts", { isBuffered: true }));
}

// For tests that limit CPU time.
process.env["TURNSTREAM_SLOWNESS"] = String(new MachineSpeed(20_000).slowness);
// Every push runs the same cases. Set the variable to run others.
process.env["TURNSTREAM_SEED"] ??= "20261119";

async function runOnProcessor(): Promise<{ pure: TestStage[]; checkOk: boolean }> {
  const pure = [
    await runTests("test", "--project pure --project isolated", false),
    await runTests("test:older-react", "--project pure packages/react/test", false),
    // Its pages use no server, so this group is as long as the other.
    await runTests("test:gallery", "--project browser gallery/", true),
  ];
  return { pure, checkOk: await check() };
}

async function runOnServers(): Promise<TestStage[]> {
  return [
    await runTests("test:services", "--project services", true),
    await runTests("test:browser", "--project browser browser/ examples/", true),
  ];
}

const [{ pure, checkOk }, withServers] = await Promise.all([runOnProcessor(), runOnServers()]);
const stages = [...pure, ...withServers];

console.log(`[ci] all: ${inSeconds((performance.now() - started) / 1000)}`);
for (const failure of failedTests) console.log(`[ci] failed test: ${failure}`);
for (const [stage, { result, lastLines }] of failedStages)
  console.log([`[ci] failed stage: ${stage}: ${result}`, ...lastLines].join("\n"));
const sum = (count: "passed" | "failed") => stages.reduce((total, stage) => total + stage[count], 0);
console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
process.exitCode = checkOk && stages.every(({ ok }) => ok) ? 0 : 1;
