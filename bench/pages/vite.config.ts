/** Builds the bench pages for production, with a React build that reports the duration of its commits. */
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
