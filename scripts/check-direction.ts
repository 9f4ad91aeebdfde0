/**
 * `checkDirection` checks which module imports which, by the rules of .dependency-cruiser.mjs. The command takes the
 * folder to check (default: this repository). It fails if it finds no module, so a broken check can't pass.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import { cruise, type ICruiseResult, type IForbiddenRuleType } from "dependency-cruiser";

import { atRunTime, written } from "../.dependency-cruiser.mjs";

const folders = ["packages", "tests", "bench", "examples", "scripts"];

/** The folders that the rules of `atRunTime` check. For cycles elsewhere, `written` has a stricter rule. */
const runTimeFolders = ["packages/protocol", "bench"];

interface DirectionReport {
  modules: number;
  violations: string[];
}

async function cruiseOnce(
  root: string,
  checked: readonly string[],
  forbidden: IForbiddenRuleType[],
  typeImports: boolean,
): Promise<ICruiseResult> {
  const present = checked.filter((folder) => existsSync(join(root, folder)));
  const { output } = await cruise(
    present,
    {
      baseDir: root,
      validate: true,
      ruleSet: { forbidden },
      tsPreCompilationDeps: typeImports,
      doNotFollow: { path: ["(^|/)node_modules/"] },
      exclude: { path: ["(^|/)(dist|[.]tsc)/"] },
      enhancedResolveOptions: {
        exportsFields: ["exports"],
        conditionNames: ["@turnstream/source", "types", "import", "node", "default"],
      },
    },
    {},
    // Otherwise imports of types without the keyword `type` would count as erased.
    { tsConfig: { options: { verbatimModuleSyntax: true } } },
  );
  if (typeof output === "string")
    throw new TypeError("dependency-cruiser must return a result object, got text");
  return output;
}

export async function checkDirection(root: string): Promise<DirectionReport> {
  const runs = [
    await cruiseOnce(root, folders, written, true),
    await cruiseOnce(root, runTimeFolders, atRunTime, false),
  ];
  const violations = runs.flatMap(({ summary }) =>
    summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`),
  );
  const counts = runs.map(
    ({ modules }) => modules.filter(({ source }) => !source.includes("node_modules/")).length,
  );
  // A run that finds nothing is broken.
  const modules = counts.includes(0) ? 0 : Math.max(...counts);
  return { modules, violations: [...new Set(violations)].toSorted() };
}

if (process.argv[1] === import.meta.filename) {
  const root = resolve(process.argv[2] ?? join(import.meta.dirname, ".."));
  const { modules, violations } = await checkDirection(root);
  for (const violation of violations) console.error(violation);
  console.log(`${modules} modules, ${violations.length} violations`);
  if (modules === 0) console.error("No module was found: the check itself is broken.");
  if (modules === 0 || violations.length > 0) process.exitCode = 1;
}
