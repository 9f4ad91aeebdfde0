/**
 * Builds the page of `turnstream dev` into the package, as a part of `npm run build`.
 * Invariant: the page contains only its own code. It reads no file .env and inlines nothing, so that the policy of the
 * server can refuse everything inline.
 */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  envDir: false,
  plugins: [react()],
  build: {
    outDir: "../dist/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The page contains code of others, whose licenses must come with it.
    license: { fileName: "licenses.md" },
  },
  resolve: { conditions: ["@turnstream/source", "module", "browser", "development|production"] },
});
