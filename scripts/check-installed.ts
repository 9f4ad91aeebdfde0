/**
 * Installs the packed packages as an app does: without features, with each one alone, and with all of them. Each app runs
 * on PGlite, and has the routes and the dependencies of its features and of no others. Needs the network, or what npm has
 * cached of it.
 */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { packPackages } from "../tests/kit/packages/pack-packages.ts";
import { inSeconds, root } from "./run-command.ts";

const BASE = ["protocol", "server", "dev"];
const FEATURES = ["knowledge", "payments"];
const APPS = [[], ...FEATURES.map((name) => [name]), FEATURES];
const INSTALL = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "turnstream-installed-"));
/** Without the addresses of servers, the app keeps its data in its folder. */
const { DATABASE_URL: _, REDIS_URL: __, NODE_ENV: ___, ...env } = process.env;

/** Returns the packages that a package of ours needs, or can use. */
function listDependencies(name: string): string[] {
  const manifest = readFileSync(join(root, "packages", name, "package.json"), "utf8");
  const { dependencies, peerDependencies } = JSON.parse(manifest) as Record<string, Record<string, string>>;
  return Object.keys({ ...dependencies, ...peerDependencies });
}

/** Returns what the app has of other features, or what its routes do wrong. */
async function findProblems(
  archives: ReadonlyMap<string, string>,
  features: readonly string[],
): Promise<string[]> {
  const app = join(folder, ["app", ...features].join("-"));
  const installed = [...BASE, ...features];
  const dependencies = installed.map((name) => {
    const id = `@turnstream/${name}`;
    return [id, `file:${archives.get(id)}`];
  });
  mkdirSync(app);
  cpSync(join(root, "tests/kit/packages/features-app.ts"), join(app, "app.ts"));
  writeFileSync(
    join(app, "package.json"),
    JSON.stringify({ private: true, type: "module", dependencies: Object.fromEntries(dependencies) }),
  );
  await run("npm", INSTALL, { cwd: app, env });

  const own = new Set(installed.flatMap((name) => [`@turnstream/${name}`, ...listDependencies(name)]));
  const others = FEATURES.flatMap((name) => [`@turnstream/${name}`, ...listDependencies(name)]);
  const foreign = others.filter((name) => !own.has(name) && existsSync(join(app, "node_modules", name)));
  const statuses = FEATURES.map((name) => [name, features.includes(name) ? 200 : 404]);
  const expected = { answer: "Hello.", server: 200, ...Object.fromEntries(statuses) };
  const { stdout } = await run(process.execPath, ["app.ts", ...features], { cwd: app, env });
  return [
    ...foreign.map((name) => `node_modules has ${name}`),
    ...(stdout.trim() === JSON.stringify(expected)
      ? []
      : [`it prints ${stdout.trim()}, and must print ${JSON.stringify(expected)}`]),
  ];
}

try {
  const archives = await packPackages([...BASE, ...FEATURES], folder);
  for (const features of APPS) {
    const started = performance.now();
    const problems = await findProblems(archives, features).catch((error: unknown) => [String(error)]);
    const name = `an app with ${features.join(" and ") || "no feature"}`;
    const outcome = problems.length === 0 ? "ok" : "FAILED";
    console.log(`${name}: ${outcome}, ${inSeconds((performance.now() - started) / 1000)}`);
    for (const problem of problems) console.error(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
