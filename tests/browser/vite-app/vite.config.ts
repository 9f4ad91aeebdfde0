/** The page is served below a path prefix. */
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  base: "/chat/",
  plugins: [react(), tailwindcss()],
  build: { outDir: "served/chat", emptyOutDir: true },
});
