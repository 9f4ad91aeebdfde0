/** How the page of recorded sessions is built: with the React for developers, which complains where hydration differs. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  define: { "process.env.NODE_ENV": JSON.stringify("development") },
  build: { minify: false },
  resolve: { conditions: ["@turnstream/source", "module", "browser", "development"] },
});
