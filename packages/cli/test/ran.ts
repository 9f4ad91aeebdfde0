/** `ran` runs the CLI in this process and returns its exit code and what it printed to both streams. */
import type { CliContext } from "../src/cli-context.ts";
import { run } from "../src/run.ts";

export async function ran(
  args: readonly string[],
  env: Record<string, string>,
  change: Partial<CliContext> = {},
) {
  let [out, err] = ["", ""];
  const code = await run(args, {
    env,
    folder: process.cwd(),
    loadEnv: () => undefined,
    isTerminal: false,
    columns: null,
    hasColors: false,
    nodeVersion: process.versions.node,
    now: () => Date.now(),
    out: (text) => (out += text),
    err: (text) => (err += text),
    signal: new AbortController().signal,
    ...change,
  });
  return { code, out, err };
}
