/**
 * Runs every check that is not a test, one after the other, even if one fails. A step that exceeds its time budget
 * fails too, so that the checks stay fast. In CI they run in parallel with the tests. Does not change source files.
 */
import { inSeconds, runCommand } from "./run-command.ts";

interface Step {
  name: string;
  command: string;
  folder?: string;
  budgetSeconds: number;
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
  { name: "format", command: "oxfmt --check", budgetSeconds: 30 },
  { name: "types", command: "npm run --silent build", budgetSeconds: 400 },
  {
    name: "types of the Svelte page",
    command: "svelte-check --tsconfig browser/page/tsconfig.json --fail-on-warnings",
    budgetSeconds: 90,
  },
  { name: "lint", command: "oxlint", budgetSeconds: 150 },
  { name: "direction", command: "node scripts/check-direction.ts", budgetSeconds: 150 },
  { name: "unused code", command: "knip --no-progress", budgetSeconds: 60 },
  { name: "supply chain", command: "node scripts/check-supply-chain.ts", budgetSeconds: 30 },
  ...published.flatMap((folder): Step[] => [
    { name: `package ${folder}`, command: "publint --strict", folder, budgetSeconds: 40 },
    {
      name: `package types ${folder}`,
      command:
        "attw --pack . --profile esm-only --exclude-entrypoints ./styles.css ./shadcn.css ./highlight.css ./internal --no-summary --no-color --format ascii",
      folder,
      budgetSeconds: 60,
    },
  ]),
  { name: "bundle size", command: "size-limit", budgetSeconds: 40 },
];

const failures: string[] = [];

for (const { name, command, folder = ".", budgetSeconds } of steps) {
  console.log(`\n[check] ${name}: ${command}`);
  const { ok, seconds } = await runCommand(command, { folder });
  const late = seconds > budgetSeconds;
  if (!ok) failures.push(name);
  else if (late) failures.push(`${name} (over its ${budgetSeconds} s)`);
  console.log(`[check] ${name}: ${ok ? (late ? "too slow" : "ok") : "FAILED"}, ${inSeconds(seconds)}`);
}

console.log(failures.length === 0 ? "\n[check] all ok" : `\n[check] failed: ${failures.join(", ")}`);
process.exitCode = failures.length === 0 ? 0 : 1;
