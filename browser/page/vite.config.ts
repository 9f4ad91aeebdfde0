/** How the page of the browser tests is built: from TypeScript source, like everything here. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  resolve: { conditions: ["@turnstream/source", "module", "browser", "development|production"] },
});
