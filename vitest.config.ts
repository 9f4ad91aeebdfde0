/**
 * How the tests run: from TypeScript source, so that no build has to come first. Those of the project `pure`
 * need no server; before those of `services` and `browser` run, real ones are started. Those of `browser` look
 * through Chromium at pages that browser/global-setup.ts builds. Nothing is skipped where a server or the browser is missing.
 */
import { configDefaults, defineConfig } from "vitest/config";

const conditions = ["@turnstream/source", "module", "node", "development|production"];

const withServices = "**/*.services.test.ts";
const inBrowser = "**/*.browser.test.{ts,tsx}";

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["@turnstream/source", "node"] } },
  test: {
    pool: "forks",
    maxWorkers: 2,
    // The default, said aloud: otherwise vitest advises against it below its summary.
    isolate: true,
    projects: [
      {
        extends: true,
        test: {
          name: "pure",
          include: ["packages/*/test/**/*.test.{ts,tsx}", "conformance/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: [...configDefaults.exclude, withServices, inBrowser],
          // What comes a moment later is waited for: a machine may stop a process for seconds.
          expect: { poll: { timeout: 30_000 } },
          // Properties run thousands of generated logs, on machines that may be busy.
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "services",
          include: ["packages/*/test", "services", "chaos", "bench"].map(
            (folder) => `${folder}/${withServices}`,
          ),
          globalSetup: "services/global-setup.ts",
          // Servers answer a moment later, on machines that may be busy: the default gives them a second.
          expect: { poll: { timeout: 30_000 } },
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["browser", "gallery", "examples"].map((folder) => `${folder}/${inBrowser}`),
          globalSetup: "browser/global-setup.ts",
          // What a page does comes a moment after the key: it is waited for, on machines that may be busy.
          expect: { poll: { timeout: 30_000 } },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
