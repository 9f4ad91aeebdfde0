/**
 * `compare` measures a bench on this checkout and on another commit, alternately, and judges each figure by the interval
 * of its ratio. Noise of the machine affects both, and shows as a wide interval.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "./run-program.ts";

const PAIRS = 7;
/** The 97.5 % quantile of Student's t distribution with 6 degrees of freedom. */
const T = 2.447;
/** A figure is worse if its whole interval is above this. */
const WORSE = 1.05;

const root = join(import.meta.dirname, "..");

interface Compared {
  readonly measure: string;
  /** The mean cost of this checkout, times that of the other commit. Above 1 is worse. */
  readonly ratio: number;
  readonly from: number;
  readonly to: number;
  readonly ok: boolean;
}

/**
 * @param words the name of the bench, and of its part
 * @param ref the commit to compare with
 */
export async function compare(ref: string, words: readonly string[]): Promise<Compared[]> {
  const other = await checkOut(ref);
  try {
    const pairs: (readonly [before: Figures, after: Figures])[] = [];
    for (let n = 0; n < PAIRS; n++) {
      const before = await runBench(other, words);
      const after = await runBench(root, words);
      pairs.push([before, after]);
      console.error(`[compare] ${n + 1} of ${PAIRS}`);
    }
    return judge(pairs);
  } finally {
    execFileSync("git", ["worktree", "remove", "--force", other], { cwd: root });
  }
}

/** The benches of this checkout measure both, so that only the product differs. */
async function checkOut(ref: string): Promise<string> {
  const folder = join(await mkdtemp(join(tmpdir(), "turnstream-compare-")), "checkout");
  execFileSync("git", ["worktree", "add", "--detach", folder, ref], { cwd: root, stdio: "ignore" });
  for (const path of listModuleFolders()) execFileSync("cp", ["-a", join(root, path), join(folder, path)]);
  for (const path of ["bench", "tests"]) {
    if (!existsSync(join(folder, path)) || !existsSync(join(root, path))) continue;
    rmSync(join(folder, path), { recursive: true });
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  return folder;
}

/** The folders of installed packages: that of the root, and those of workspaces. */
function listModuleFolders(): string[] {
  const found = execFileSync(
    "find",
    [".", "-maxdepth", "4", "-name", "node_modules", "-prune", "-not", "-path", "./node_modules/*"],
    { cwd: root, encoding: "utf8" },
  );
  return found.split("\n").filter(Boolean);
}

type Figures = ReadonlyMap<string, { readonly value: number; readonly isMore: boolean }>;

async function runBench(folder: string, words: readonly string[]): Promise<Figures> {
  const lines = await runProgram(join(folder, "bench/run.ts"), [...words, "--ours"], folder);
  const figures = lines.flatMap((line) => {
    const { measure: name, value, note = "" } = JSON.parse(line) as Record<string, string>;
    if (name === undefined || !Number.isFinite(Number(value))) return [];
    return [[name, { value: Number(value), isMore: note.includes("per second") }] as const];
  });
  if (figures.length === 0) throw new Error(`The bench ${words.join(" ")} measured nothing in ${folder}.`);
  return new Map(figures);
}

/** Computes the mean ratio of each figure and its interval from the logarithms of the ratios. Pure. */
export function judge(pairs: readonly (readonly [before: Figures, after: Figures])[]): Compared[] {
  const names = [...(pairs[0]?.[1].keys() ?? [])].filter((name) => pairs[0]?.[0].has(name));
  return names.map((measure) => {
    const logs = pairs.map(([before, after]) => {
      const { value: a = Number.NaN, isMore = false } = before.get(measure) ?? {};
      const b = after.get(measure)?.value ?? Number.NaN;
      return Math.log(isMore ? a / b : b / a);
    });
    const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
    const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
    const half = (T * Math.sqrt(variance)) / Math.sqrt(logs.length);
    const from = toRatio(mean - half);
    return { measure, ratio: toRatio(mean), from, to: toRatio(mean + half), ok: !(from > WORSE) };
  });
}

function toRatio(log: number): number {
  return Number(Math.exp(log).toFixed(3));
}
