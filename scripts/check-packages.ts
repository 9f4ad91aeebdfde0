/**
 * Checks what users install: the packages, their types and sizes, licences and known vulnerabilities. Runs at night and
 * before a release. Builds the packages first.
 */
import { packages } from "./pack-docs.ts";
import { runSteps } from "./run-command.ts";

await runSteps([
  { name: "build", command: "npm run --silent build" },
  ...packages.flatMap((name) => [
    { name: `package ${name}`, command: "publint --strict", folder: `packages/${name}` },
    {
      name: `types of ${name}`,
      command:
        "attw --pack . --profile esm-only --exclude-entrypoints ./styles.css ./shadcn.css ./highlight.css ./internal --no-summary --no-color --format ascii",
      folder: `packages/${name}`,
    },
  ]),
  { name: "publishing", command: "node scripts/check-publish.ts" },
  { name: "apps without and with features", command: "node scripts/check-installed.ts" },
  { name: "sizes", command: "size-limit" },
  { name: "licences and vulnerabilities", command: "node scripts/check-supply-chain.ts --audit" },
]);
