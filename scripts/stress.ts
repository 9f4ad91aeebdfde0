/**
 * Runs test files ten times while other processes use all processors: `npm run test:stress -- FILE…`. A new test lands
 * only after it has passed this.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { runVitest } from "./run-vitest.ts";

const TIMES = 10;
const LOAD = "for (;;) Math.sqrt(2);";

const files = process.argv.slice(2);
if (files.length === 0) {
  console.log("npm run test:stress -- FILE…");
  process.exitCode = 2;
} else {
  const hogs = Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ["-e", LOAD]));
  let failed = 0;
  for (let n = 1; n <= TIMES; n++) {
    const { ok, flaky, seconds } = await runVitest(files, { isBuffered: true });
    if (!ok || flaky.length > 0) failed++;
    console.log(JSON.stringify({ run: n, ok: ok && flaky.length === 0, seconds: Math.round(seconds) }));
  }
  for (const hog of hogs) hog.kill();
  console.log(JSON.stringify({ ok: failed === 0, runs: TIMES, failed }));
  process.exitCode = failed === 0 ? 0 : 1;
}
