/**
 * How the tests run: from TypeScript source, so that no build has to come first. Those of the project `pure`
 * need no server; before those of `services` run, services/global-setup.ts starts real ones. Nothing is skipped
 * where a server is missing.
 */
import { configDefaults, defineConfig } from "vitest/config";

const conditions = ["@turnstream/source", "module", "node", "development|production"];

const withServices = "**/*.services.test.ts";

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
          include: ["packages/*/test/**/*.test.ts", "conformance/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: [...configDefaults.exclude, withServices],
          // Properties run thousands of generated logs, on machines that may be busy.
          testTimeout: 600_000,
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
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
