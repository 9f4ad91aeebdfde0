/**
 * Runs the fuzzer: `npm run fuzz`. It feeds each target with generated input. It prints progress to stderr, one JSON
 * object per target, and a summary as the last line. The exit code is 0 only if nothing crashed, nothing blocked the
 * main thread for more than 50 ms of CPU time, and no hidden text was found.
 */
import { readSeed } from "@turnstream/testkit/util/seeded-random.ts";
import { fuzzTarget, type FuzzReport, type Target } from "./target.ts";
import { bodies, frames } from "./targets/gateway.ts";
import { hidden } from "./targets/hidden.ts";
import { markdown } from "./targets/markdown.ts";
import { mcp } from "./targets/mcp.ts";
import { decoders, forms, sse } from "./targets/texts.ts";

const TARGETS: readonly Target[] = [bodies, frames, sse, decoders, forms, markdown, mcp, hidden];
const DEFAULT_MINUTES = 30;

const HELP = `npm run fuzz -- [NAME …] [--minutes N] [--seed N]

${TARGETS.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`).join("\n")}

  NAME          only these targets, instead of all
  --minutes N   the time of all targets together (default ${DEFAULT_MINUTES})
  --seed N      repeats the cases of an earlier run

Example: npm run fuzz -- frames --minutes 5`;

function readOption(name: string): number | undefined {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? Number.NaN : Number(process.argv[at + 1]);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

if (process.argv.includes("--help")) console.log(HELP);
else {
  const names = new Set(process.argv.slice(2));
  const named = TARGETS.filter(({ name }) => names.has(name));
  const targets = named.length === 0 ? TARGETS : named;
  const minutes = readOption("minutes") ?? DEFAULT_MINUTES;
  const seed = readOption("seed") ?? readSeed();
  console.error(`[fuzz] seed ${seed}`);
  const reports: FuzzReport[] = [];
  for (const target of targets) {
    const report = await fuzzTarget(target, (minutes * 60_000) / targets.length, seed);
    reports.push(report);
    console.log(JSON.stringify(report));
  }
  const sum = (count: "cases" | "crashes" | "holds" | "canaries") =>
    reports.reduce((total, report) => total + report[count], 0);
  const [cases, crashes, holds, canaries] = [sum("cases"), sum("crashes"), sum("holds"), sum("canaries")];
  const ok = reports.every((report) => report.ok);
  const missed = reports.filter((report) => !report.ok).map(({ target }) => target);
  console.log(
    JSON.stringify({ fuzz: targets.length, ok, seed, minutes, cases, crashes, holds, canaries, missed }),
  );
  // Connections of the targets may still be open.
  process.exit(ok ? 0 : 1);
}
