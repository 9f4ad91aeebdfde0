/** Builds the pages of the browser tests from TypeScript source: a live session, a whole chat, clients of the documents. */
import { join } from "node:path";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { reactAlias } from "../../kit/util/react-alias.ts";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), svelte()],
  build: {
    rollupOptions: {
      input: ["index.html", "chat.html", "documents.html", "svelte.html"].map((name) =>
        join(import.meta.dirname, name),
      ),
    },
  },
  resolve: {
    alias: reactAlias(),
    conditions: ["@turnstream/source", "module", "browser", "development|production"],
  },
});
