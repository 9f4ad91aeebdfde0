/** Serves and builds the gallery's pages from TypeScript source. */
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { reactAlias } from "../kit/util/react-alias.ts";

const page = (name: string): string => join(import.meta.dirname, `${name}.html`);

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  resolve: {
    alias: reactAlias(),
    conditions: ["@turnstream/source", "module", "browser", "development|production"],
  },
  build: { rolldownOptions: { input: [page("index"), page("stage"), page("sheet")] } },
});
