/**
 * `buildPage` builds a page with Vite for production. It runs in its own process, because the NODE_ENV of a test would
 * select the development build of React.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const BUILD_MS = 120_000;

export async function buildPage(source: string, outDir: string): Promise<void> {
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const args = [vite, "build", source, "--outDir", outDir, "--emptyOutDir", "--logLevel", "error"];
  const config = ["--config", join(source, "vite.config.ts")];
  await promisify(execFile)(process.execPath, [...args, ...config], {
    cwd: root,
    env: { ...process.env, NODE_ENV: "production" },
    timeout: BUILD_MS,
  });
}
