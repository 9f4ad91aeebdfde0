/**
 * Runs every check of a push that is not a test, one after the other, even if one fails. Needs no network and does not
 * change source files.
 */
import { runSteps } from "./run-command.ts";

/** `types` must come before the steps that read built files. */
await runSteps([
  { name: "format", command: "oxfmt --check" },
  { name: "types", command: "npm run --silent build" },
  {
    name: "types of the Svelte page",
    command: "svelte-check --tsconfig tests/browser/page/tsconfig.json --fail-on-warnings",
  },
  { name: "lint", command: "oxlint" },
  { name: "direction", command: "node scripts/check-direction.ts" },
  { name: "unused code", command: "knip --no-progress" },
  { name: "quarantine", command: "node scripts/check-quarantine.ts" },
  { name: "lockfile", command: "node scripts/check-supply-chain.ts" },
]);
