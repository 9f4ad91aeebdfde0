/**
 * How the tests run: from TypeScript source, so that no build has to come first. Those of the projects `pure` and
 * `isolated` need no server; before those of `services` and `browser` run, real ones are started. Those of `browser`
 * look through Chromium at pages that browser/global-setup.ts builds. Nothing is skipped where a server or the browser
 * is missing.
 *
 * Test files share the two processes of their project and the modules that these have loaded: a file must put back
 * what it changes, timers and globals for instance. Those of `isolated` have a process each.
 */
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { reactAlias } from "./testkit/util/react-alias.ts";
import { useMemoryFolder } from "./testkit/util/memory-folder.ts";

// Inherited by the processes that run the tests, and by projects that read this file again.
if (process.env["TURNSTREAM_SEED"] === undefined) {
  process.env["TURNSTREAM_SEED"] = String(randomInt(2 ** 31));
  console.log(`[tests] TURNSTREAM_SEED=${process.env["TURNSTREAM_SEED"]}`);
}

// Tests start hundreds of processes of ours. What one has compiled, the next one loads in half the time.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules", ".cache", "compile");

useMemoryFolder();

const conditions = ["@turnstream/source", "node", "development|production"];

const withServices = "**/*.services.test.ts";
const inBrowser = "**/*.browser.test.{ts,tsx}";

/** Tests that need a process of their own, with the reason. None of them needs a server. */
const ISOLATED = {
  "packages/server/test/text-extraction/extract.test.ts": "measures the memory of its process",
  "packages/server/test/gateway/connection/idle-connections.test.ts": "counts the objects on the heap",
  "packages/server/test/gateway/event-loop-fairness.test.ts": "measures the heap",
  "packages/server/test/safe-fetch/fetch-limits.test.ts": "measures the memory of its process",
  "packages/server/test/runtime/interactions/interaction-losses.test.ts":
    "moves a fake clock by minutes, which also runs the timers of other files in its process",
  "packages/client/test/tabs/shared-channels.test.ts":
    "moves a fake clock by minutes, which also runs the timers of other files in its process",
  "packages/client/test/view/form-store.test.ts":
    "moves a fake clock by seconds, which also runs the timers of other files in its process",
  "packages/client/test/session/released.test.ts":
    "counts the timers of its process, which clients of other files also start",
  "testkit/network/free-port.services.test.ts": "replaces `node:crypto` in the module under test",
};
const isolated = Object.keys(ISOLATED);
// A file that was moved would silently share a process.
for (const path of isolated) {
  if (!existsSync(join(import.meta.dirname, path)))
    throw new Error(`ISOLATED names ${path}, which is not there.`);
}

/** How long `expect.poll` waits. A busy machine may stop a process for seconds, and the default is one second. */
const poll = { timeout: 30_000 };

/** The files that take longest. They start first, because a long file at the end leaves a processor idle for minutes. */
const LONGEST = [
  // Measures memory and collects garbage often, which takes long in a process that has run many files.
  "packages/server/test/session/blobs/upload.",
  "chaos/",
  "bench/",
  "packages/server/test/engine/processes.",
  "testkit/servers/main.",
  "browser/stories.",
  "packages/client/test/live/faults.",
  "conformance/properties/tasks.",
  "conformance/properties/blocks-",
  "conformance/docs.",
];

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((start) => moduleId.startsWith(join(import.meta.dirname, start)));
  return rank < 0 ? LONGEST.length : rank;
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not the sort of an array
    const sorted = await super.sort(files);
    // One project after the other: a process that files share is not ended for another project.
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    return sorted.toSorted(
      (a, b) => projects.indexOf(a.project.name) - projects.indexOf(b.project.name) || rankOf(a) - rankOf(b),
    );
  }
}

export default defineConfig({
  resolve: { conditions, alias: reactAlias() },
  ssr: { resolve: { conditions, externalConditions: ["@turnstream/source", "node"] } },
  test: {
    pool: "forks",
    maxWorkers: 2,
    isolate: false,
    sequence: { sequencer: LongestFirst },
    setupFiles: "conformance/support/test-setup.ts",
    projects: [
      {
        extends: true,
        test: {
          name: "pure",
          include: [
            "packages/*/test/**/*.test.{ts,tsx}",
            "conformance/**/*.test.ts",
            "fuzz/**/*.test.ts",
            "scripts/**/*.test.ts",
          ],
          exclude: [...configDefaults.exclude, withServices, inBrowser, ...isolated],
          expect: { poll },
          // Properties run thousands of generated logs, on machines that may be busy.
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "isolated",
          include: isolated,
          isolate: true,
          expect: { poll },
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "services",
          include: ["packages/*/test", "testkit", "chaos", "bench"].map(
            (folder) => `${folder}/${withServices}`,
          ),
          exclude: [...configDefaults.exclude, ...isolated],
          globalSetup: "testkit/servers/global-setup.ts",
          expect: { poll },
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["browser", "gallery", "examples"].map((folder) => `${folder}/${inBrowser}`),
          globalSetup: "browser/global-setup.ts",
          expect: { poll },
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
