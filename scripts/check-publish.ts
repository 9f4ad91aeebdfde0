/** Checks that npm would publish each package without a warning. Publishes nothing. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { packages } from "./pack-docs.ts";
import { root } from "./run-command.ts";

const run = promisify(execFile);

/** A dry run needs no account. */
const NOT_LOGGED_IN = /requires you to be logged in .*\(dry-run\)$/;

const workspaces = packages.flatMap((name) => ["-w", `packages/${name}`]);
const { stdout, stderr } = await run("npm", ["publish", "--dry-run", "--ignore-scripts", ...workspaces], {
  cwd: root,
  maxBuffer: 64 * 1024 * 1024,
});
const warnings = stderr
  .split("\n")
  .filter((line) => /^npm (warn publish|error)/.test(line) && !NOT_LOGGED_IN.test(line));
const published = stdout.split("\n").filter((line) => line.startsWith("+ "));
for (const warning of warnings) console.error(warning);
console.log(
  `${published.length} of ${packages.length} packages can be published, ${warnings.length} warnings`,
);
if (warnings.length > 0 || published.length !== packages.length) process.exitCode = 1;
