#!/usr/bin/env node
/**
 * The command `turnstream`. It only connects `run` to the process; `run.ts` has the logic.
 * Invariant: this is the only file that uses `process`. Variables of the file .env never override those of the shell. It sets the exit code and does not end the process, so that all
 * output is written. Ctrl-C aborts the signal once; a second one ends the process.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ENV_FILE } from "./cli-context.ts";
import { run } from "./run.ts";
import { usesColors } from "./styles.ts";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
const { stdout, stderr, env } = process;
const folder = process.cwd();
/** The variables that come from the file. */
const loaded = new Set<string>();

function loadEnv(): void {
  let variables: NodeJS.Dict<string> = {};
  try {
    variables = parseEnv(readFileSync(join(folder, ENV_FILE), "utf8"));
  } catch {
    // Most folders have no such file.
  }
  for (const name of loaded) if (variables[name] === undefined) delete env[name];
  for (const [name, value] of Object.entries(variables)) {
    // An empty variable counts as not set. A template often has the name of a key without its value.
    if (value === undefined || value === "" || (env[name] !== undefined && !loaded.has(name))) continue;
    env[name] = value;
    loaded.add(name);
  }
}

loadEnv();
// A reader that closes the pipe early, such as `head`, is not an error.
stdout.on("error", () => stop.abort());
process.exitCode = await run(process.argv.slice(2), {
  env,
  folder,
  loadEnv,
  isTerminal: stderr.isTTY,
  /** Read at each use, because a terminal can be resized. */
  get columns() {
    return stdout.isTTY ? Number(env["COLUMNS"] ?? stdout.columns) || stdout.columns : null;
  },
  hasColors: usesColors(env, stdout.isTTY),
  nodeVersion: process.versions.node,
  now: () => Date.now(),
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  signal: stop.signal,
});
