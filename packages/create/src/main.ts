#!/usr/bin/env node
/**
 * The command `create-turnstream`, which `npm create turnstream` runs. It only connects `run` to the process.
 * Invariant: this is the only file that uses `process`. It sets the exit code and does not end the process, so that all
 * output is written.
 */
import { run } from "./run.ts";

const { stdin, stdout, stderr, env } = process;
process.exitCode = await run(process.argv.slice(2), {
  cwd: process.cwd(),
  nodeVersion: process.versions.node,
  packageManager: env["npm_config_user_agent"]?.split("/")[0] ?? "npm",
  terminal: stdin.isTTY && stdout.isTTY ? { input: stdin, output: stdout } : null,
  columns: stdout.isTTY ? stdout.columns : null,
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
});
