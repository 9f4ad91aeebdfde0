/** Makes the chat page from its source, into a folder that is gone with this process. */
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
  // Whatever the terminal says: people get the React that is fast.
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
      // How long each plugin took is nothing that somebody who tries the example can use.
      rolldownOptions: { checks: { bundlerTimings: false } },
    },
  });
  return { folder, remove: () => removeFolder(folder) };
}
