/**
 * Checks the model of the live log (`log.pml`) with Spin, and that every mutation of it breaks an invariant; see
 * docs/log-model.md. `--trail NAME` prints the counterexample of one mutation.
 *
 * Invariant: a configuration passes only if Spin reached all its states. The last line of a successful run is `ok`.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";

/** Sizes of the model: how many epochs there are, and how many appends the writer of each makes. */
function sizes(appends: readonly number[], doubts = 0): string {
  const [first = 0, second = 0, third = 0] = appends;
  return `EPOCHS=${appends.length} APPENDS1=${first} APPENDS2=${second} APPENDS3=${third} DOUBTS=${doubts}`;
}

/** The sizes and parts, by name. The longest searches are first. */
const CONFIGURATIONS: Record<string, string> = {
  "old-primary": `${sizes([1, 1])} FAILOVER ARCHIVE READER JOINS=1 SPLITS=true`,
  "row-claims": `${sizes([1, 0, 1])} FAILOVER ARCHIVE JOINS=2`,
  "reader-row": `${sizes([1, 1])} FAILOVER ARCHIVE READER JOINS=1`,
  archive: `${sizes([3, 1, 1], 1)} FAILOVER ARCHIVE EXPIRY`,
  reader: `${sizes([2, 1], 1)} FAILOVER ARCHIVE EXPIRY READER`,
  retries: `${sizes([3, 2, 1], 3)} FAILOVER`,
  row: `${sizes([2, 1])} FAILOVER ARCHIVE EXPIRY JOINS=2`,
  "reader-claims": `${sizes([2, 1, 1])} FAILOVER READER JOINS=1`,
};

const WRITERS = sizes([2, 1], 2);
const ARCHIVE = `${sizes([2, 1, 1])} FAILOVER ARCHIVE`;
const ROW = `${sizes([2, 1], 1)} FAILOVER ARCHIVE JOINS=2`;
const READER = `${sizes([2, 1, 1])} FAILOVER READER JOINS=1`;

/** By name: sizes and parts with which the rule is needed. A suffix distinguishes two searches for one mutation. */
const MUTATIONS: Record<string, string> = {
  NoGeneration: WRITERS,
  GenerationNotStored: WRITERS,
  LateRetry: WRITERS,
  LateClaim: WRITERS,
  ClaimSentAgain: ROW,
  ClaimNotConfirmed: ARCHIVE,
  ClaimWithoutRestart: ARCHIVE,
  StaleTimeline: ARCHIVE,
  "StaleTimeline-reader": `${READER} EFFECTS`,
  "StaleTimeline-archive": `${ROW} EFFECTS`,
  StaleTimelineOfRow: ROW,
  RowNotSearched: ROW,
  RowBeforeBase: ROW,
  RowAfterEnd: ROW,
  RowReadFirst: `${sizes([0])} ARCHIVE JOINS=2`,
  ArchiveDuringClaim: ARCHIVE,
  TrimUnarchived: ARCHIVE,
  CursorBySeq: READER,
  ClaimJoinedBySeq: READER,
};

const MODEL = join(import.meta.dirname, "log.pml");
const PARALLEL = 2;
/** More than any configuration needs. */
const MAX_MEMORY_MB = 4_000;

/** The model itself is wrong, for example a log is longer than `SEQS`. */
const UNNAMED = "BROKEN: no invariant";

const run = promisify(execFile);

interface Search {
  readonly output: string;
  /** The steps of the counterexample; null if there is none. */
  readonly trail: readonly string[] | null;
  readonly seconds: number;
}

/** @param isShortest true to search in the order of length, which finds the shortest counterexample */
async function search(parts: string, isShortest: boolean): Promise<Search> {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "log-model-"));
  const options = { cwd: folder, maxBuffer: 2 ** 26 };
  try {
    const defines = parts.split(" ").map((part) => `-D${part}`);
    await run("spin", ["-a", ...defines, MODEL], options);
    const order = isShortest ? ["-DBFS"] : [];
    const limits = ["-DSAFETY", "-DNOREDUCE", `-DMEMLIM=${MAX_MEMORY_MB}`];
    await run("gcc", ["-O2", "-w", ...limits, ...order, "-o", "pan", "pan.c"], options);
    const { stdout: output } = await run("./pan", ["-m100000"], options);
    const trail = /errors: [1-9]/.test(output) ? await readTrail(defines, options) : null;
    return { output, trail, seconds: (performance.now() - started) / 1_000 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function readTrail(defines: readonly string[], options: { cwd: string }): Promise<readonly string[]> {
  const { stdout } = await run("spin", ["-T", "-k", "log.pml.trail", ...defines, MODEL], options);
  const lines = stdout.split("\n").filter((line) => line !== "" && !/^(spin|#|\d|\s)/.test(line));
  // The step that breaks an invariant prints its line after the invariant.
  const [broken = UNNAMED] = lines.filter((line) => line.startsWith("BROKEN"));
  return [...lines.filter((line) => !line.startsWith("BROKEN")), broken];
}

/** @returns the line that reports a configuration, and whether the model holds in all its states */
async function checkConfiguration(name: string, parts: string): Promise<[string, boolean]> {
  const { output, trail, seconds } = await search(parts, false);
  const isExhaustive = /errors: 0$/m.test(output) && !/not completed|too small|truncated/.test(output);
  const states = Number(/(\d+) states, stored/.exec(output)?.[1]).toLocaleString("en");
  const depth = /depth reached (\d+)/.exec(output)?.[1];
  const result = isExhaustive ? "all states hold" : (trail ?? [output]).join("\n");
  return [`${name}: ${states} states, depth ${depth}, ${seconds.toFixed(0)} s, ${result}`, isExhaustive];
}

function searchMutation(name: string, parts: string): Promise<Search> {
  return search(`${parts} MUTATION=${name.replace(/-.*/, "")}`, true);
}

async function checkMutation(name: string, parts: string): Promise<[string, boolean]> {
  const { trail, seconds } = await searchMutation(name, parts);
  if (trail === null) return [`${name}: NOT FOUND, the invariants don't need this rule`, false];
  return [
    `${name}: found in ${trail.length - 1} steps, ${seconds.toFixed(0)} s, ${trail.at(-1)}`,
    trail.at(-1) !== UNNAMED,
  ];
}

async function checkAll(): Promise<void> {
  const checks = [
    ...Object.entries(CONFIGURATIONS).map((each) => [checkConfiguration, ...each] as const),
    ...Object.entries(MUTATIONS).map((each) => [checkMutation, ...each] as const),
  ];
  let isOk = true;
  const work = async (): Promise<void> => {
    for (let next = checks.shift(); next !== undefined; next = checks.shift()) {
      const [check, name, parts] = next;
      const [line, isExpected] = await check(name, parts);
      console.log(line);
      if (!isExpected) isOk = false;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  console.log(isOk ? "ok" : "failed");
  if (!isOk) process.exitCode = 1;
}

async function printTrail(name: string): Promise<void> {
  const parts = MUTATIONS[name];
  if (parts === undefined) throw new Error(`\`--trail\` must be one of ${Object.keys(MUTATIONS).join(", ")}`);
  const { trail } = await searchMutation(name, parts);
  for (const [n, line] of (trail ?? []).entries()) console.log(`${String(n + 1).padStart(2)}  ${line}`);
}

for (const [command, flag] of [
  ["spin", "-V"],
  ["gcc", "--version"],
] as const) {
  await run(command, [flag]).catch(() => {
    console.error(`The model needs \`${command}\`: run \`apt-get install ${command}\` on Debian.`);
    process.exit(1);
  });
}
const { trail } = parseArgs({ options: { trail: { type: "string" } } }).values;
await (trail === undefined ? checkAll() : printTrail(trail));
