/**
 * Starts what all tests of the project `browser` share: real servers, and the pages, which are built once and served.
 * It stops everything after the last test. Tests get the URLs of the pages from pages.ts.
 */
// Imported by path: vitest resolves its global setup without our export condition.
import { join } from "node:path";
import { setup as startServers } from "../kit/servers/global-setup.ts";
import { makeFolder, removeFolder } from "../kit/processes/watch.ts";
import type { TestProject } from "vitest/node";
import { buildPage } from "./build-page.ts";
import type { BuiltPage, PageName } from "./pages.ts";
import { type ServedFolder, serveFolder } from "./serve-folder.ts";

const root = join(import.meta.dirname, "../..");
const SOURCES: Readonly<Record<PageName, string>> = {
  gallery: "tests/gallery",
  live: "tests/browser/page",
  recorded: "tests/browser/recorded",
};

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stopServers = await startServers(project);
  const folder = await makeFolder("pages");
  const served: ServedFolder[] = [];
  const pages: Partial<Record<PageName, BuiltPage>> = {};
  for (const [name, source] of Object.entries(SOURCES) as [PageName, string][]) {
    try {
      const outDir = join(folder, name);
      await buildPage(join(root, source), outDir);
      const page = await serveFolder(outDir);
      served.push(page);
      pages[name] = { url: page.url };
    } catch (error) {
      pages[name] = { error: String(error) };
    }
  }
  project.provide("pages", pages as Record<PageName, BuiltPage>);
  return async () => {
    await Promise.all(served.map((page) => page.close()));
    removeFolder(folder);
    await stopServers();
  };
}
