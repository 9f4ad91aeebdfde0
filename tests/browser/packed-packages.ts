/**
 * `installPacked` makes a folder an app that has the packed packages installed, as a user would have them.
 * Invariant: nothing of this repository is linked into the app. The packages are packed once for all apps of a process.
 */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { packPackages } from "@turnstream/testkit/packages/pack-packages.ts";
import { makeFolder } from "@turnstream/testkit/processes/watch.ts";

const run = promisify(execFile);
const PACKAGES = ["protocol", "server", "next", "client", "react", "cli", "dev", "files"];

let packed: Promise<ReadonlyMap<string, string>> | null = null;

async function pack(): Promise<ReadonlyMap<string, string>> {
  return await packPackages(PACKAGES, await makeFolder("packed"));
}

/**
 * Installs the dependencies of the package.json in the folder. Packages of ours come from their archives.
 * @param more dependencies that package.json doesn't have, with their versions
 */
export async function installPacked(
  folder: string,
  env: NodeJS.ProcessEnv,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  packed ??= pack();
  const archives = await packed;
  const file = join(folder, "package.json");
  const manifest = JSON.parse(await readFile(file, "utf8")) as Record<
    "dependencies" | "devDependencies",
    Record<string, string>
  >;
  Object.assign(manifest.dependencies, more);
  for (const [name, archive] of archives) {
    delete manifest.devDependencies[name];
    manifest.dependencies[name] = `file:${archive}`;
  }
  // The lowest versions that the app allows, so that a release of a package doesn't change the test.
  await writeFile(file, JSON.stringify(manifest).replaceAll('"^', '"'));
  // With NODE_ENV=production, npm would leave out TypeScript, which the build needs.
  const install = [
    "install",
    "--include=dev",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
  ];
  await run("npm", install, { cwd: folder, env });
}
