#!/usr/bin/env node
/**
 * The command `turnstream`. It only connects `run` to the process; `run.ts` has the logic.
 * Invariant: this is the only file that uses `process`. It sets the exit code and does not end the process, so that all
 * output is written. Ctrl-C aborts the signal once; a second one ends the process.
 */
import { run } from "./run.ts";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  isTerminal: process.stderr.isTTY,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  signal: stop.signal,
});
