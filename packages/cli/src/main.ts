#!/usr/bin/env node
/**
 * The command `turnstream`. It only connects `run` to the process; `run.ts` has the logic.
 * Invariant: this is the only file that uses `process`. It sets the exit code and does not end the process, so that all
 * output is written. Ctrl-C aborts the signal once; a second one ends the process.
 */
import { run } from "./run.ts";
import { usesColors } from "./styles.ts";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
const { stdout, stderr, env } = process;
// A reader that closes the pipe early, such as `head`, is not an error.
stdout.on("error", () => stop.abort());
process.exitCode = await run(process.argv.slice(2), {
  env,
  isTerminal: stderr.isTTY,
  columns: stdout.isTTY ? Number(env["COLUMNS"] ?? stdout.columns) || stdout.columns : null,
  hasColors: usesColors(env, stdout.isTTY),
  nodeVersion: process.versions.node,
  now: () => Date.now(),
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  signal: stop.signal,
});
