/**
 * Runs the whole CI. The benches with limits come first, on an otherwise idle machine: the fold, the dialects, and the
 * first hour of a user, which also builds the packages. Then two groups of stages run in parallel: the tests without
 * servers, those of the gallery and the checks, and the tests with servers and browsers.
 *
 * Invariant: every stage runs even if another failed. The end of the output names everything that failed, its last line
 * has the number of passed and failed tests, and the exit code is 0 only if everything passed. Installs nothing.
 */
import { randomInt } from "node:crypto";
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

const machine = new MachineSpeed(20_000);
/** Multiplies a budget by the slowness of this machine. */
const inBudget = (seconds: number): number => Math.round(seconds * machine.slowness);

/** Time budget of each stage in seconds, while the others run. A stage that exceeds its budget fails. */
const BUDGETS = {
  bench: 45,
  "bench first-hour": 300,
  check: 450,
  test: 900,
  "test:services": 750,
  "test:browser": 750,
  "test:gallery": 300,
  "test:older-react": 120,
};
/** Time budget of the whole run in seconds, without the installation. */
const WHOLE_BUDGET = 1200;

/** A stage that hangs, such as a browser, is killed after this many times its budget. */
const KILL_AFTER = 2;

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
  budget: number;
  /** What the end of the output repeats if the stage fails. */
  lastLines?: string[];
}

function report(stage: string, { ok, seconds, budget: budgetSeconds, lastLines = [] }: Stage): boolean {
  const budget = inBudget(budgetSeconds);
  const isLate = seconds > budget;
  const outcome = ok ? (isLate ? `over its ${budget} s` : "ok") : "FAILED";
  const result = `${outcome}, ${inSeconds(seconds)}`;
  console.log(`[ci] ${stage}: ${result}`);
  if (ok && !isLate) failedStages.delete(stage);
  else failedStages.set(stage, { result, lastLines });
  return ok && !isLate;
}

/**
 * A figure over its bound is measured again, because other load on the machine may be the reason. A real regression
 * fails every time.
 */
const BENCH_TRIES = 3;

async function benchIsOk(name: string, budget: number, maxTries: number): Promise<boolean> {
  console.log(`[ci] bench ${name}`);
  for (let tries = 1; ; tries++) {
    const run = await runCommand(`npm run --silent bench -- ${name} --check`);
    const isOk = report(`bench ${name}`, { ...run, budget });
    if (isOk || tries === maxTries) return isOk;
  }
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
  const within = `${react}timeout --kill-after=10 ${BUDGETS[stage] * KILL_AFTER}`;
  const run = await runCommand(`${within} vitest run ${chosen} ${reporters}`, {
    // Hides the only line between vitest's summary and ours.
    hide: /^JSON report written to /,
    isBuffered,
  });
  const count = countTests(readReport(results), run.ok);
  rmSync(scratch, { recursive: true });
  failedTests.push(...count.failures);
  const { seconds } = run;
  const ok = report(stage, { ok: run.ok && count.failed === 0, seconds, budget: BUDGETS[stage] });
  return { ...count, ok };
}

async function check(): Promise<boolean> {
  console.log("[ci] check");
  const run = await runCommand("node scripts/check.ts", { isBuffered: true });
  return report("check", { ...run, budget: BUDGETS.check });
}

// For tests that limit CPU time.
process.env["TURNSTREAM_SLOWNESS"] = String(machine.slowness);
// One seed for all stages. Set the variable to run the same cases again.
process.env["TURNSTREAM_SEED"] ??= String(randomInt(2 ** 31));
console.log(`[ci] TURNSTREAM_SEED=${process.env["TURNSTREAM_SEED"]}`);

const benchesOk = [
  await benchIsOk("fold", BUDGETS.bench, BENCH_TRIES),
  await benchIsOk("dialects", BUDGETS.bench, BENCH_TRIES),
  await benchIsOk("first-hour", BUDGETS["bench first-hour"], 1),
].every(Boolean);

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
const testsOk = stages.every(({ ok }) => ok);

const seconds = (performance.now() - started) / 1000;
const wholeOk = report("all", { ok: true, seconds, budget: WHOLE_BUDGET });
console.log(`[ci] budgets were multiplied by ${machine.slowness.toFixed(2)}, the slowness of this machine`);
for (const failure of failedTests) console.log(`[ci] failed test: ${failure}`);
for (const [stage, { result, lastLines }] of failedStages)
  console.log([`[ci] failed stage: ${stage}: ${result}`, ...lastLines].join("\n"));
const sum = (count: "passed" | "failed") => stages.reduce((total, stage) => total + stage[count], 0);
console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
process.exitCode = checkOk && benchesOk && testsOk && wholeOk ? 0 : 1;
