/**
 * Runs every check that is not a test, one after the other, even if one fails. In CI they run in parallel with the
 * tests. Does not change source files.
 */
import { inSeconds, runCommand } from "./run-command.ts";

interface Step {
  name: string;
  command: string;
  folder?: string;
}

const published = [
  "packages/protocol",
  "packages/server",
  "packages/cli",
  "packages/next",
  "packages/client",
  "packages/react",
  "packages/create",
];

/** `types` must come before the steps that read built files: the Svelte page, package lint and bundle size. */
const steps: Step[] = [
  { name: "format", command: "oxfmt --check" },
  { name: "types", command: "npm run --silent build" },
  {
    name: "types of the Svelte page",
    command: "svelte-check --tsconfig browser/page/tsconfig.json --fail-on-warnings",
  },
  { name: "lint", command: "oxlint" },
  { name: "direction", command: "node scripts/check-direction.ts" },
  { name: "unused code", command: "knip --no-progress" },
  { name: "supply chain", command: "node scripts/check-supply-chain.ts" },
  ...published.flatMap((folder): Step[] => [
    { name: `package ${folder}`, command: "publint --strict", folder },
    {
      name: `package types ${folder}`,
      command:
        "attw --pack . --profile esm-only --exclude-entrypoints ./styles.css ./shadcn.css ./highlight.css ./internal --no-summary --no-color --format ascii",
      folder,
    },
  ]),
  { name: "bundle size", command: "size-limit" },
];

const failures: string[] = [];

for (const { name, command, folder = "." } of steps) {
  console.log(`\n[check] ${name}: ${command}`);
  const { ok, seconds } = await runCommand(command, { folder });
  if (!ok) failures.push(name);
  console.log(`[check] ${name}: ${ok ? "ok" : "FAILED"}, ${inSeconds(seconds)}`);
}

console.log(failures.length === 0 ? "\n[check] all ok" : `\n[check] failed: ${failures.join(", ")}`);
process.exitCode = failures.length === 0 ? 0 : 1;
