/** `buildPage` builds the chat page into a folder that is removed with this process. */
import { join } from "node:path";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import react from "@vitejs/plugin-react";
import { build } from "vite";

export interface BuiltPage {
  readonly folder: string;
  remove(): void;
}

export async function buildPage(): Promise<BuiltPage> {
  const folder = await makeFolder("page");
  // Always use React's production build, whatever NODE_ENV the terminal has.
  process.env["NODE_ENV"] = "production";
  await build({
    configFile: false,
    root: join(import.meta.dirname, "../page"),
    logLevel: "warn",
    plugins: [react()],
    resolve: { conditions: ["@turnstream/source", "module", "browser", "development|production"] },
    build: {
      outDir: folder,
      emptyOutDir: true,
      chunkSizeWarningLimit: 2_000,
      // Build times of plugins are of no use to users of the example.
      rolldownOptions: { checks: { bundlerTimings: false } },
    },
  });
  return { folder, remove: () => removeFolder(folder) };
}
