/**
 * `packPackages` builds the published packages and packs them as npm would publish them, for tests that install them.
 * Invariant: the archives contain the current source. A build that is up to date takes a few seconds.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const COMPILER = join(root, "node_modules/typescript-native/bin/tsc");

/**
 * @param names folders in `packages/`, dependencies included
 * @param destination the folder of the archives
 * @returns the archive of each package, by the name of the package
 */
export async function packPackages(
  names: readonly string[],
  destination: string,
): Promise<ReadonlyMap<string, string>> {
  const folders = names.map((name) => `packages/${name}`);
  await run(process.execPath, [COMPILER, "-b", ...folders], { cwd: root });
  const workspaces = folders.flatMap((folder) => ["-w", folder]);
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", destination, ...workspaces];
  const { stdout } = await run("npm", pack, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  const packed = JSON.parse(stdout) as readonly { readonly name: string; readonly filename: string }[];
  return new Map(packed.map(({ name, filename }) => [name, join(destination, filename)]));
}
