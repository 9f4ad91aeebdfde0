/**
 * Runs what decides whether a push lands: the checks beside the tests without servers, then the tests with servers, then
 * those in a browser.
 *
 * Invariant: every lane runs even if another failed, and time never fails one. The output ends with what failed and the
 * number of passed and failed tests; the same is in `.artefacts/ci.json`, also after a failure.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inSeconds, root, runCommand } from "./run-command.ts";
import { describeRun, runVitest, type TestRun } from "./run-vitest.ts";

/** With this many files that pass only alone, something is wrong with the change or with the tests. */
const MAX_FLAKY = 2;

interface Lane {
  readonly name: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly tests?: Omit<TestRun, "ok" | "seconds">;
}

const started = performance.now();
const lanes: Lane[] = [];

async function check(): Promise<void> {
  const { ok, seconds } = await runCommand("timeout --kill-after=10 1500 node scripts/check.ts", {
    isBuffered: true,
  });
  console.log(`[ci] check: ${ok ? "ok" : "FAILED"}, ${inSeconds(seconds)}`);
  lanes.push({ name: "check", ok, seconds });
}

async function test(name: string, ...projects: string[]): Promise<void> {
  console.log(`[ci] ${name}`);
  const run = await runVitest(projects.map((project) => `--project=${project}`));
  console.log(`[ci] ${name}: ${describeRun(run)}`);
  const { ok, seconds, ...tests } = run;
  lanes.push({ name, ok, seconds, tests });
}

await Promise.all([check(), test("test", "test", "isolated")]);
await test("services", "services");
await test("browser", "browser");

const runs = lanes.flatMap(({ tests }) => tests ?? []);
const flaky = runs.flatMap((run) => run.flaky);
const failures = runs.flatMap((run) => run.failures);
const ok = lanes.every((lane) => lane.ok) && flaky.length <= MAX_FLAKY;
const passed = runs.reduce((sum, run) => sum + run.passed, 0);
const seconds = (performance.now() - started) / 1000;
const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
mkdirSync(join(root, ".artefacts"), { recursive: true });
writeFileSync(
  join(root, ".artefacts/ci.json"),
  JSON.stringify({ ok, commit, seconds, passed, failed: failures.length, flaky, lanes }, null, 2),
);

console.log(`[ci] all: ${inSeconds(seconds)}`);
for (const failure of failures) console.log(`[ci] failed test: ${failure}`);
for (const file of flaky) console.log(`[ci] FLAKY: ${file}`);
for (const lane of lanes) if (!lane.ok) console.log(`[ci] failed: ${lane.name}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = ok ? 0 : 1;
