/** Builds a page with Vite, as it would be published. In a process of its own: a test's NODE_ENV would bundle the React that developers use. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "..");
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
