/** How the pages of the bench are built: production builds, with a React that can tell what its commits take. */
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  resolve: {
    conditions: ["@turnstream/source", "module", "browser", "development|production"],
    alias: { "react-dom/client": "react-dom/profiling" },
  },
  build: { sourcemap: true, chunkSizeWarningLimit: 10_000 },
});
