/** How the tests run: from TypeScript source, so that no build has to come first. Starts no server. */
import { defineConfig } from "vitest/config";

const conditions = ["@turnstream/source", "module", "node", "development|production"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["@turnstream/source", "node"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "conformance/**/*.test.ts", "scripts/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    // The default, said aloud: otherwise vitest advises against it below its summary.
    isolate: true,
    // Properties run thousands of generated logs, on machines that may be busy.
    testTimeout: 600_000,
  },
});
