/** Builds the page of recorded sessions with the development build of React, which reports hydration differences. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { reactAlias } from "../../kit/util/react-alias.ts";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  define: { "process.env.NODE_ENV": JSON.stringify("development") },
  build: { minify: false },
  resolve: { alias: reactAlias(), conditions: ["@turnstream/source", "module", "browser", "development"] },
});
