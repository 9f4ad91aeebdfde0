/**
 * Checks the models of the live log (`log.pml`) and of the queue of turns (`queue.pml`) with Spin, and that every mutation
 * of them breaks an invariant; see docs/log-model.md and docs/queue-model.md. An argument names one of the two.
 * `--trail NAME` prints the counterexample of one mutation.
 *
 * Invariant: a configuration passes only if Spin reached all its states. The last line of a successful run is `ok`.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { logSizes } from "./log-sizes.ts";
import { queueSizes } from "./queue-sizes.ts";

interface Model {
  /** The sizes and parts, by name. */
  readonly configurations: Record<string, string>;
  /** By name: sizes and parts with which the rule is needed. A suffix distinguishes two searches for one mutation. */
  readonly mutations: Record<string, string>;
}

const MODELS: Record<string, Model> = { log: logSizes, queue: queueSizes };

const PARALLEL = 2;
/** More than any configuration needs. */
const MAX_MEMORY_MB = 4_000;

/** The model itself is wrong, for example a log is longer than its limit. */
const UNNAMED = "BROKEN: no invariant";

const run = promisify(execFile);

interface Search {
  readonly output: string;
  /** The steps of the counterexample; null if there is none. */
  readonly trail: readonly string[] | null;
  readonly seconds: number;
}

/** @param isShortest true to search in the order of length, which finds the shortest counterexample */
async function search(model: string, parts: string, isShortest: boolean): Promise<Search> {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "model-"));
  const file = join(import.meta.dirname, `${model}.pml`);
  const options = { cwd: folder, maxBuffer: 2 ** 26 };
  try {
    const defines = parts.split(" ").map((part) => `-D${part}`);
    await run("spin", ["-a", ...defines, file], options);
    const order = isShortest ? ["-DBFS"] : [];
    const limits = ["-DSAFETY", "-DNOREDUCE", `-DMEMLIM=${MAX_MEMORY_MB}`];
    await run("gcc", ["-O2", "-w", ...limits, ...order, "-o", "pan", "pan.c"], options);
    const { stdout: output } = await run("./pan", ["-m100000"], options);
    const trail = /errors: [1-9]/.test(output) ? await readTrail(file, defines, options) : null;
    return { output, trail, seconds: (performance.now() - started) / 1_000 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function readTrail(
  file: string,
  defines: readonly string[],
  options: { cwd: string },
): Promise<readonly string[]> {
  const { stdout } = await run("spin", ["-T", "-k", `${basename(file)}.trail`, ...defines, file], options);
  const lines = stdout.split("\n").filter((line) => line !== "" && !/^(spin|#|\d|\s)/.test(line));
  // The step that breaks an invariant prints its line after the invariant.
  const [broken = UNNAMED] = lines.filter((line) => line.startsWith("BROKEN"));
  return [...lines.filter((line) => !line.startsWith("BROKEN")), broken];
}

/** @returns the line that reports a configuration, and whether the model holds in all its states */
async function checkConfiguration(model: string, name: string, parts: string): Promise<[string, boolean]> {
  const { output, trail, seconds } = await search(model, parts, false);
  const isExhaustive = /errors: 0$/m.test(output) && !/not completed|too small|truncated/.test(output);
  const states = Number(/(\d+) states, stored/.exec(output)?.[1]).toLocaleString("en");
  const depth = /depth reached (\d+)/.exec(output)?.[1];
  const result = isExhaustive ? "all states hold" : (trail ?? [output]).join("\n");
  return [
    `${model} ${name}: ${states} states, depth ${depth}, ${seconds.toFixed(0)} s, ${result}`,
    isExhaustive,
  ];
}

function searchMutation(model: string, name: string, parts: string): Promise<Search> {
  return search(model, `${parts} MUTATION=${name.replace(/-.*/, "")}`, true);
}

async function checkMutation(model: string, name: string, parts: string): Promise<[string, boolean]> {
  const { trail, seconds } = await searchMutation(model, name, parts);
  if (trail === null) return [`${model} ${name}: NOT FOUND, the invariants don't need this rule`, false];
  return [
    `${model} ${name}: found in ${trail.length - 1} steps, ${seconds.toFixed(0)} s, ${trail.at(-1)}`,
    trail.at(-1) !== UNNAMED,
  ];
}

async function checkAll(names: readonly string[]): Promise<void> {
  const models = names.map((name) => [name, findModel(name)] as const);
  const checks = [
    ...models.flatMap(([model, { configurations }]) =>
      Object.entries(configurations).map((each) => [checkConfiguration, model, ...each] as const),
    ),
    ...models.flatMap(([model, { mutations }]) =>
      Object.entries(mutations).map((each) => [checkMutation, model, ...each] as const),
    ),
  ];
  let isOk = true;
  const work = async (): Promise<void> => {
    for (let next = checks.shift(); next !== undefined; next = checks.shift()) {
      const [check, model, name, parts] = next;
      const [line, isExpected] = await check(model, name, parts);
      console.log(line);
      if (!isExpected) isOk = false;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  console.log(isOk ? "ok" : "failed");
  if (!isOk) process.exitCode = 1;
}

function findModel(name: string): Model {
  const model = MODELS[name];
  if (model === undefined)
    throw new Error(`The model must be one of ${Object.keys(MODELS).join(", ")}, got ${name}.`);
  return model;
}

async function printTrail(name: string): Promise<void> {
  for (const [model, { mutations }] of Object.entries(MODELS)) {
    const parts = mutations[name];
    if (parts === undefined) continue;
    const { trail } = await searchMutation(model, name, parts);
    for (const [n, line] of (trail ?? []).entries()) console.log(`${String(n + 1).padStart(2)}  ${line}`);
    return;
  }
  const names = Object.values(MODELS).flatMap(({ mutations }) => Object.keys(mutations));
  throw new Error(`\`--trail\` must be one of ${names.join(", ")}, got ${name}.`);
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
const { values, positionals } = parseArgs({ options: { trail: { type: "string" } }, allowPositionals: true });
await (values.trail === undefined
  ? checkAll(positionals.length === 0 ? Object.keys(MODELS) : positionals)
  : printTrail(values.trail));
