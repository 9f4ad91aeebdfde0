/**
 * How the tests run: from TypeScript source, so that no build has to come first. The name of a file says where it runs:
 *
 * - `x.test.ts` needs no server, no browser and no Debian package: `npm test`;
 * - `x.services.test.ts` needs Redis and PostgreSQL, `x.browser.test.ts` Chromium too: both run on each push;
 * - `x.nightly.test.ts` and `x.browser.nightly.test.ts` run at night, with servers: they are slow, or draw new cases;
 * - those of `tests/chaos/` run at night in a part of their own;
 * - `x.limits.test.ts` measures time, CPU time or memory. It runs at night, alone.
 *
 * Real servers are started before the tests that need them. Nothing is skipped where a server is missing.
 *
 * Test files share the processes of their project and the modules that these have loaded: a file must put back what it
 * changes, timers and globals for instance. Those of `ISOLATED` have a process each.
 */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { reactAlias } from "./tests/kit/util/react-alias.ts";
import { useMemoryFolder } from "./tests/kit/util/memory-folder.ts";

// Tests start hundreds of processes of ours. What one has compiled, the next one loads in half the time.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules", ".cache", "compile");

useMemoryFolder();

const conditions = ["@turnstream/source", "node", "development|production"];

const inBrowser = "**/*.browser.test.{ts,tsx}";
const inBrowserAtNight = "**/*.browser.nightly.test.{ts,tsx}";
const withServices = "**/*.services.test.ts";
const atNight = "**/*.nightly.test.{ts,tsx}";
const limits = "**/*.limits.test.{ts,tsx}";
const chaos = "tests/chaos/**/*.nightly.test.ts";

/** Tests that need a process of their own, with the reason. None of them needs a server. */
const ISOLATED = {
  "packages/server/test/agent/interactions/interaction-losses.test.ts":
    "moves a fake clock by minutes, which also runs the timers of other files in its process",
  "packages/client/test/view/form-store.test.ts":
    "moves a fake clock by seconds, which also runs the timers of other files in its process",
  "packages/client/test/session/released.test.ts":
    "counts the timers of its process, which clients of other files also start",
};
const isolated = Object.keys(ISOLATED);
// A file that was moved would silently share a process.
for (const path of isolated) {
  if (!existsSync(join(import.meta.dirname, path)))
    throw new Error(`ISOLATED names ${path}, which is not there.`);
}

/** How long a test waits for an event that has to come. It ends a test that hangs, and never one that is slow. */
const patience = {
  expect: { poll: { timeout: 60_000 } },
  testTimeout: 600_000,
  hookTimeout: 300_000,
};
const writesDump = "packages/dev/test/global-setup.ts";
const startsServers = { globalSetup: [writesDump, "tests/kit/servers/global-setup.ts"] };
const startsPages = { globalSetup: [writesDump, "tests/browser/global-setup.ts"] };

export default defineConfig({
  resolve: { conditions, alias: reactAlias() },
  ssr: { resolve: { conditions, externalConditions: ["@turnstream/source", "node"] } },
  test: {
    pool: "forks",
    maxWorkers: Math.max(2, availableParallelism()),
    isolate: false,
    setupFiles: "tests/conformance/support/test-setup.ts",
    projects: [
      {
        extends: true,
        test: {
          ...patience,
          globalSetup: writesDump,
          name: "test",
          include: ["**/*.test.{ts,tsx}"],
          exclude: [...configDefaults.exclude, withServices, inBrowser, atNight, limits, ...isolated],
        },
      },
      { extends: true, test: { ...patience, name: "isolated", include: isolated, isolate: true } },
      { extends: true, test: { ...patience, ...startsServers, name: "services", include: [withServices] } },
      { extends: true, test: { ...patience, ...startsPages, name: "browser", include: [inBrowser] } },
      {
        extends: true,
        test: {
          ...patience,
          ...startsServers,
          name: "nightly",
          include: [atNight],
          exclude: [...configDefaults.exclude, inBrowserAtNight, chaos],
        },
      },
      { extends: true, test: { ...patience, ...startsServers, name: "chaos", include: [chaos] } },
      {
        extends: true,
        test: { ...patience, ...startsPages, name: "browser-nightly", include: [inBrowserAtNight] },
      },
      {
        extends: true,
        test: {
          ...patience,
          ...startsServers,
          name: "limits",
          include: [limits],
          isolate: true,
          fileParallelism: false,
        },
      },
    ],
  },
});
