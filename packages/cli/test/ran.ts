/** `ran` runs the CLI in this process and returns its exit code and what it printed to both streams. */
import { run } from "../src/run.ts";

export async function ran(args: readonly string[], env: Record<string, string>) {
  let [out, err] = ["", ""];
  const code = await run(args, {
    env,
    isTerminal: false,
    out: (text) => (out += text),
    err: (text) => (err += text),
    signal: new AbortController().signal,
  });
  return { code, out, err };
}
