/** Builds the page of the browser tests from TypeScript source. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  resolve: { conditions: ["@turnstream/source", "module", "browser", "development|production"] },
});
